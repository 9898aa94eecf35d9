// What is made of an object once, such as the wire's form of a message: messages and definitions do not change once made.

/** A function that makes something of each object once, and remembers it for as long as the object lives. */
export function memoize<Source extends object, Made extends object | string | number>(
  make: (source: Source) => Made,
): (source: Source) => Made {
  const known = new WeakMap<Source, Made>();
  return (source) => {
    let made = known.get(source);
    if (made === undefined) {
      made = make(source);
      known.set(source, made);
    }
    return made;
  };
}
