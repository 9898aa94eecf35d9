export function thenable(then: PropertyDescriptor, object: object = {}): PromiseLike<unknown> {
  return withProperty(object, "then", then) as PromiseLike<unknown>;
}

function withProperty(object: object, name: string, descriptor: PropertyDescriptor): object {
  return Object.defineProperty(object, name, descriptor);
}
