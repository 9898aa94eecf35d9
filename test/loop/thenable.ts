// Creates unusual promise-like objects, with any kind of `then`.

/** Creates an object with the property `then`, from a descriptor with a value or a getter. */
export function thenable(then: PropertyDescriptor, object: object = {}): PromiseLike<unknown> {
  return withProperty(object, "then", then) as PromiseLike<unknown>;
}

function withProperty(object: object, name: string, descriptor: PropertyDescriptor): object {
  return Object.defineProperty(object, name, descriptor);
}
