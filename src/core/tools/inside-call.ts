// The call inside which an agent tool or a nested run works.

import type { Clock, Timeouts } from "../types/common.ts";
import type { LoopResult } from "../types/loop-result.ts";
import type { Deadline } from "../../shared/cancellation/deadline.ts";

/**
 * The contexts of tool calls have their call under this key, and their signals the nesting level of the run. A global symbol, so that all
 * copies of the package use the same key.
 */
export const insideKey: unique symbol = Symbol.for("turnwright.Call");

export interface Level {
  readonly depth: number;
  readonly maxDepth: number;
}

export interface InsideCall {
  readonly run: Level & {
    readonly clock: Clock;
    readonly timeouts: Pick<Timeouts, "hookMs" | "toolMs">;
  };
  readonly deadline: Deadline | undefined;
  /** Waits for work of the core. */
  busy<T>(work: () => PromiseLike<T>): Promise<T>;
  /** Returns the messages that a nested run has not sent to the caller of the outer run. */
  giveBack(result: LoopResult): void;
}

/** Returns undefined outside a run. */
export function insideOf(context: object): InsideCall | undefined {
  return (context as { readonly [insideKey]?: InsideCall })[insideKey];
}
