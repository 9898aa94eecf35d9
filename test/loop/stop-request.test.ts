import { expect, it } from "vitest";
import { createLoopControl } from "turnwright";
import type { StopRequest } from "../../src/core/types/loop-options.ts";
import { play } from "./play.ts";

it.for<[title: string, given: unknown, received: string]>([
  ["a string", "user", '"user"'],
  ["an object with only an unknown field", { reason: "x" }, 'an object with "reason"'],
  ["an object with a requester and an unknown field", { requester: "user 7", reason: "x" }, 'an object with "reason"'],
  ["a number", 7, "7"],
])("control.stop() rejects %s", ([, given, received]) => {
  const message = `Option "stop" is ${received}, but must be undefined or { requester, note }.`;
  expect(() => createLoopControl().stop(given as StopRequest)).toThrow(message);
});

it.for<[what: string, given: unknown, facts: object]>([
  ["undefined", undefined, {}],
  ["null", null, {}],
  ["a requester and a note", { requester: "user 7", note: "enough" }, { requester: "user 7", note: "enough" }],
  ["a click event", new Event("click"), {}],
  ["a signal name", "SIGINT", {}],
])("control.stop() accepts %s", async ([, given, facts]) => {
  const control = createLoopControl();
  expect(control.stop(given as StopRequest)).toBe("accepted");
  expect((await play([], { control }).result).reason).toEqual({ kind: "stopped", ...facts });
});
