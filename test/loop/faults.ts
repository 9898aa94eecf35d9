import { never } from "./play.ts";

export type Fault = () => unknown;

export const fail = (): never => {
  throw new Error("fault");
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

export const faults: { readonly [what: string]: Fault } = {
  throws: fail,
  "throws undefined": throwing(() => undefined),
  "throws a string": throwing(() => "fault"),
  "throws a frozen object": throwing(() => Object.freeze({ message: 1n })),
  rejects: () => Promise.reject(new Error("fault")),
  "rejects with undefined": () => Promise.reject(undefined),
  "gives a number": () => 42,
  "gives a bigint": () => 42n,
  "gives a symbol": () => Symbol("nonsense"),
  "gives an empty object": () => ({}),
  "gives an empty list": () => [],
  "gives null": () => null,
  "gives undefined": () => undefined,
  "gives a function that throws": () => fail,
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
