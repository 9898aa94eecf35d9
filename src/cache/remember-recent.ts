const mostKept = 16;

/** Returns a function that makes the value of a key, and keeps the values of recent keys. A model reads few texts at the same time. */
export function rememberRecent<Made>(): (key: string, make: () => Made) => Made {
  const known = new Map<string, Made>();
  return (key, make) => {
    const made = known.get(key) ?? make();
    known.delete(key);
    known.set(key, made);
    for (const oldest of known.keys()) {
      if (known.size <= mostKept) break;
      known.delete(oldest);
    }
    return made;
  };
}
