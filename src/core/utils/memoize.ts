// What is made of an object once, such as the wire's form of a message: messages and definitions do not change once made.

/**
 * A function that makes something of each object once, and remembers it for as long as the object lives. Further arguments may only
 * matter where the making fails: what was made once is given whatever they are.
 */
export function memoize<Source extends object, Made extends object | string | number, Rest extends readonly unknown[] = []>(
  make: (source: Source, ...rest: Rest) => Made,
): (source: Source, ...rest: Rest) => Made {
  const known = new WeakMap<Source, Made>();
  return (source, ...rest) => {
    let made = known.get(source);
    if (made === undefined) {
      made = make(source, ...rest);
      known.set(source, made);
    }
    return made;
  };
}
