import { never } from "./play.ts";
import { thenable } from "./thenable.ts";

export type Fault = () => unknown;

export const fail = (): never => {
  throw new Error("fault");
};

const revoked = (): object => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
};

const throwing =
  (thrown: () => unknown): Fault =>
  () => {
    throw thrown();
  };

export function once<T>(first: T, second: () => unknown): () => unknown {
  let asked = 0;
  return () => (asked++ === 0 ? first : second());
}

const accept = (resolve: (value: unknown) => void): void => resolve(1);
const broken = { get: fail, has: fail, ownKeys: fail, getPrototypeOf: fail, getOwnPropertyDescriptor: fail };

export const faults: { readonly [what: string]: Fault } = {
  throws: fail,
  "throws undefined": throwing(() => undefined),
  "throws a string": throwing(() => "fault"),
  "throws a frozen object": throwing(() => Object.freeze({ message: 1n })),
  "throws a revoked proxy": throwing(revoked),
  rejects: () => Promise.reject(new Error("fault")),
  "rejects with undefined": () => Promise.reject(undefined),
  "rejects with a revoked proxy": () => Promise.reject(revoked()),
  "gives a number": () => 42,
  "gives a bigint": () => 42n,
  "gives a symbol": () => Symbol("nonsense"),
  "gives an empty object": () => ({}),
  "gives an empty list": () => [],
  "gives null": () => null,
  "gives undefined": () => undefined,
  "gives a function that throws": () => fail,
  "gives a revoked proxy": revoked,
  "gives an object that cannot be read": () => new Proxy({}, broken),
  "gives a promise of an object that cannot be read": async () =>
    [new Proxy({}, { ...broken, get: (_, key) => (key === "then" ? undefined : fail()) })][0],
  "gives a thenable whose then throws": () => thenable({ value: fail }),
  "gives a thenable whose then cannot be read": () => thenable({ get: fail }),
  "gives a thenable whose then cannot be read again": () => thenable({ get: once(accept, fail) }),
  "gives a thenable whose then is gone when it is read again": () => thenable({ get: once(accept, () => undefined) }),
  "gives a promise whose then cannot be read again": () => thenable({ get: once(accept, fail) }, Promise.resolve(1)),
  "gives a thenable that answers twice, and throws": () =>
    thenable({ value: (resolve: (n: number) => void) => (resolve(1), resolve(2), fail()) }),
};

/** A function that gives no answer before `settle` is called, or never. */
export interface Hanging {
  readonly fault: Fault;
  settle(): void;
}

/** Functions that return promises which settle only after the run, or never. */
export const hangs: { readonly [what: string]: () => Hanging } = {
  "never answers": () => ({ fault: () => never, settle: () => {} }),
  "answers late": () => late((resolve) => resolve(42)),
  "rejects late": () => late((_, reject) => reject(new Error("late"))),
};

function late(settle: (resolve: (value: unknown) => void, reject: (error: unknown) => void) => void): Hanging {
  const waiting: (() => void)[] = [];
  const fault = (): Promise<unknown> => new Promise((resolve, reject) => waiting.push(() => settle(resolve, reject)));
  return { fault, settle: () => waiting.splice(0).forEach((answer) => answer()) };
}
