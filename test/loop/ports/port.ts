// Describes a function that a caller passes to a run, and how the run ends if that function fails.

import { createMockProvider, type MockProvider, type MockScript, text, toolCall, usage } from "turnwright/testing";
import type { LoopOptions, Message, Tool } from "turnwright";
import type { Fault } from "../faults.ts";
import { tool } from "../play.ts";

export interface Port {
  readonly over: (fault: Fault) => Partial<LoopOptions>;
  /** How the run may end if the function throws or returns an invalid value: end reasons, codes of a LoopError, or "thrown". */
  readonly ends: readonly string[];
  /**
   * How the run ends if the function never settles: an end reason, or "never" if the run waits forever. Unset if the run does not
   * wait for the function.
   */
  readonly hangs?: string;
  /** True if the run ends at `wallClockMs`, although it rejects at other limits. Default false. */
  readonly endsAtWallClock?: true;
}

export type Ports = { readonly [verb: string]: Port };

export function portsOf<Name extends string | number | symbol>(
  prefix: string,
  names: readonly Name[],
  make: (name: Name) => Port,
): Ports {
  return Object.fromEntries(names.map((name) => [`${prefix}${String(name)}`, make(name)]));
}

export function after(count: number, well: () => unknown, fault: Fault): Fault {
  let asked = 0;
  return () => ((asked += 1) > count ? fault() : well());
}

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
