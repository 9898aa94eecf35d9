// Makes promises of another kind: objects with a `then` that does as it likes.

/** An object whose `then` is as described: a value, or a getter. */
export function thenable(then: PropertyDescriptor): PromiseLike<unknown> {
  return withProperty("then", then) as PromiseLike<unknown>;
}

function withProperty(name: string, descriptor: PropertyDescriptor): object {
  return Object.defineProperty({}, name, descriptor);
}
