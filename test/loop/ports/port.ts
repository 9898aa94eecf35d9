// A function that a caller passes to a run, and the endings of the run if the function fails.

import { createMockProvider, type MockProvider, type MockScript, text, toolCall, usage } from "turnwright/testing";
import type { LoopOptions, Message, Tool } from "turnwright";
import type { Fault } from "../faults.ts";
import { tool } from "../play.ts";

export interface Port {
  readonly over: (fault: Fault) => Partial<LoopOptions>;
  /**
   * The allowed endings if the function fails or returns an invalid value: kinds of reasons, codes of LoopErrors, or "thrown".
   */
  readonly ends: readonly string[];
  /**
   * The ending if the function does not settle, or "never". By default, the run does not wait for the function and ends as in
   * `ends`.
   */
  readonly hangs?: string;
  /** The ending at the wall-clock limit if the function does not settle. Default "wall-clock". */
  readonly atWallClock?: string;
  /** Set for a field with a getter that can throw. The value of the field belongs to the caller. */
  readonly isField?: true;
}

export type Ports = { readonly [verb: string]: Port };

export function portsOf<Name extends string | number | symbol>(
  prefix: string,
  names: readonly Name[],
  make: (name: Name) => Port,
): Ports {
  return Object.fromEntries(names.map((name) => [`${prefix}${String(name)}`, make(name)]));
}

/** Returns a function that calls `well` for the first `count` calls, and then `fault`. */
export function after(count: number, well: () => unknown, fault: Fault): Fault {
  let asked = 0;
  return () => ((asked += 1) > count ? fault() : well());
}

/** The usual messages of the model: a message with two calls, a message with one call, and an answer. */
export const usual: MockScript = [
  [text("Look: "), toolCall("t"), toolCall("t"), usage({ inputTokens: 3, outputTokens: 4 })],
  toolCall("t"),
  text("7"),
];

export const usualProvider = (): MockProvider => createMockProvider(usual);

export const question: readonly Message[] = [{ role: "user", content: "Go." }];

export const called = (execute: () => unknown, traits: Partial<Tool> = {}): Partial<LoopOptions> => ({
  tools: [tool("t", execute, traits)],
});
