// A verb of something that a run is handed, and what a run makes of its faults.

import { createMockProvider, type MockProvider, type MockScript, text, toolCall, usage } from "turnwright/testing";
import type { LoopOptions, Message, Tool } from "turnwright";
import type { Fault } from "../faults.ts";
import { tool } from "../play.ts";

/** A verb, with a run that comes by it. */
export interface Port {
  /** Options of such a run. */
  readonly over: (fault: Fault) => Partial<LoopOptions>;
  /** How the run ends when the verb fails or gives nonsense: kinds of reasons, codes of LoopErrors, or "thrown" for an error as it came. */
  readonly ends: readonly string[];
  /** The ending if the verb does not answer, or "never". By default the run does not wait for the verb and ends as above. */
  readonly hangs?: string;
  /** How it ends at the wall clock then. Default "wall-clock". */
  readonly atWallClock?: string;
  /** Set for a field, whose getter can throw. Its value belongs to the caller. */
  readonly isField?: true;
}

/** Verbs by name. */
export type Ports = { readonly [verb: string]: Port };

/** One port for each name. */
export function portsOf<Name extends string | number | symbol>(
  prefix: string,
  names: readonly Name[],
  make: (name: Name) => Port,
): Ports {
  return Object.fromEntries(names.map((name) => [`${prefix}${String(name)}`, make(name)]));
}

/** Answers well so many times, and then not. */
export function after(count: number, well: () => unknown, fault: Fault): Fault {
  let asked = 0;
  return () => ((asked += 1) > count ? fault() : well());
}

/** The usual turns of the model: two calls at once, one call, and an answer. */
export const usual: MockScript = [
  [text("Look: "), toolCall("t"), toolCall("t"), usage({ inputTokens: 3, outputTokens: 4 })],
  toolCall("t"),
  text("7"),
];

/** A model that says it. */
export const usualProvider = (): MockProvider => createMockProvider(usual);

export const question: readonly Message[] = [{ role: "user", content: "Go." }];

/** The tool that is called. */
export const called = (execute: () => unknown, traits: Partial<Tool> = {}): Partial<LoopOptions> => ({
  tools: [tool("t", execute, traits)],
});
