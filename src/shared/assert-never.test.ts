import { expect, it } from "vitest";
import { assertNever } from "./guards.ts";

function misuse(value: unknown): () => unknown {
  return () => Reflect.apply(assertNever, undefined, [value]);
}

it.for<[value: unknown, message: string]>([
  [{ type: "text-delta", text: "private" }, 'Unexpected type "text-delta".'],
  [{ kind: "odd" }, 'Unexpected kind "odd".'],
  [{ code: "odd" }, 'Unexpected code "odd".'],
  [{ type: 5 }, "Unexpected object."],
  ["odd", 'Unexpected value "odd".'],
  [5, "Unexpected value of type number."],
  [null, "Unexpected value of type null."],
  [undefined, "Unexpected value of type undefined."],
])("assertNever(%j) throws a TypeError: %s", ([value, message]) => {
  expect(misuse(value)).toThrow(new TypeError(message));
});
