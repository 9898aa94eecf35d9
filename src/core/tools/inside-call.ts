// Finds the tool call that starts a nested run or asks a question.

import type { Clock, Timeouts } from "../types/common.ts";
import type { EventSink } from "../types/loop-event.ts";
import type { LoopControl } from "../types/loop-options.ts";
import type { ToolDefinition } from "../types/tool.ts";
import type { Deadline } from "../../shared/cancellation/deadline.ts";

/**
 * Under this key, a tool call's context holds the call, and its signal holds the run's nesting level. The symbol is global, so
 * that all copies of the package use the same key.
 */
export const insideKey: unique symbol = Symbol.for("turnwright.Call");

/** Under this key, a tool context created in a test holds the function that starts nested runs. */
export const startKey: unique symbol = Symbol.for("turnwright.StartNested");

export interface Level {
  readonly depth: number;
  readonly maxDepth: number;
}

interface InsideRun extends Level {
  readonly clock: Clock;
  readonly timeouts: Pick<Timeouts, "callbackMs" | "toolMs">;
  readonly options: { readonly control?: LoopControl | undefined };
  readonly outer: InsideRun | undefined;
  readonly events: EventSink;
  readonly registered: ReadonlyMap<string, ToolDefinition>;
  /** The position of each call in its message, by call id. */
  readonly places: ReadonlyMap<string, number>;
  /** The ids of the calls that contain this run, each followed by a slash. Empty for the outermost run. */
  readonly path: string;
  /** A random id for this execution. */
  readonly token: string;
}

export interface InsideCall {
  readonly run: InsideRun;
  readonly deadline: Deadline | undefined;
  /** Called when the tool has finished. */
  onToolEnd: (() => void) | undefined;
  /** Runs the loop's own work and waits for it. */
  inCore<T>(work: () => PromiseLike<T>): Promise<T>;
}

/** Returns the call that a context belongs to, or undefined outside a run. */
export function insideOf(context: object): InsideCall | undefined {
  return (context as { readonly [insideKey]?: InsideCall })[insideKey];
}

export function isDurable({ registered }: Pick<InsideRun, "registered">, name: string): boolean {
  return registered.get(name)?.durable === true;
}
