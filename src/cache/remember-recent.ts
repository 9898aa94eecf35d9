const mostKept = 16;

/**
 * Returns a function that keeps the values for recent keys. The text of a key never changes, and a model reads few texts at the
 * same time.
 */
export function rememberRecent<Made>(make: (text: string) => Made): (key: string, text: string) => Made {
  const known = new Map<string, Made>();
  return (key, text) => {
    const made = known.get(key) ?? make(text);
    known.delete(key);
    known.set(key, made);
    for (const oldest of known.keys()) {
      if (known.size <= mostKept) break;
      known.delete(oldest);
    }
    return made;
  };
}
