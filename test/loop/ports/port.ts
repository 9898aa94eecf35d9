// A function that a run is given, and how the run ends if it fails.

import { createMockProvider, type MockProvider, type MockScript, text, toolCall, usage } from "turnwright/testing";
import type { LoopOptions, Message, Tool } from "turnwright";
import type { Fault } from "../faults.ts";
import { tool } from "../play.ts";

/** A function, with a run that calls it. */
export interface Port {
  /** Options of such a run. */
  readonly over: (fault: Fault) => Partial<LoopOptions>;
  /** The endings if the function fails or returns nonsense: kinds of reasons, codes of LoopErrors, or "thrown". */
  readonly ends: readonly string[];
  /** The ending if the function does not answer, or "never". By default the run does not wait for it and ends as above. */
  readonly hangs?: string;
  /** The ending at the wall clock if it does not answer. Default "wall-clock". */
  readonly atWallClock?: string;
  /** Set for a field, whose getter can throw. Its value belongs to the caller. */
  readonly isField?: true;
}

/** Ports by name. */
export type Ports = { readonly [verb: string]: Port };

/** One port for each name. */
export function portsOf<Name extends string | number | symbol>(
  prefix: string,
  names: readonly Name[],
  make: (name: Name) => Port,
): Ports {
  return Object.fromEntries(names.map((name) => [`${prefix}${String(name)}`, make(name)]));
}

/** Calls `well` for the first `count` calls, then `fault`. */
export function after(count: number, well: () => unknown, fault: Fault): Fault {
  let asked = 0;
  return () => ((asked += 1) > count ? fault() : well());
}

/** The usual messages of the model: two calls at once, one call, and an answer. */
export const usual: MockScript = [
  [text("Look: "), toolCall("t"), toolCall("t"), usage({ inputTokens: 3, outputTokens: 4 })],
  toolCall("t"),
  text("7"),
];

/** A provider that streams `usual`. */
export const usualProvider = (): MockProvider => createMockProvider(usual);

export const question: readonly Message[] = [{ role: "user", content: "Go." }];

/** The tool that `usual` calls. */
export const called = (execute: () => unknown, traits: Partial<Tool> = {}): Partial<LoopOptions> => ({
  tools: [tool("t", execute, traits)],
});
