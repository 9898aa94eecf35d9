// Marks a tool's answer as one that asks something of the loop. The mark is a symbol, so that no data that a tool passes on, from a web
// page, a server or a model, can ask for it.

import type { ToolResult } from "../types/tool.ts";
import type { ContextRelease } from "../types/tool-outcome.ts";

/** A request to the loop. The model does not read it. */
export interface LoopSignal {
  /** Results to leave out of later requests. */
  readonly release?: ContextRelease | undefined;
  /** Set if the answer's data describes a context restart. */
  readonly restart?: true | undefined;
}

/** Shared by every copy of the package. */
const mark: unique symbol = Symbol.for("turnwright.LoopSignal");

type Marked = ToolResult & { readonly [mark]: LoopSignal };

/** The same answer, marked. */
export function markSignal(result: ToolResult, signal: LoopSignal): ToolResult {
  const marked: Marked = Object.assign(result, { [mark]: signal } as const);
  return marked;
}

/** What an answer asks of the loop. */
export function signalOf(result: ToolResult): LoopSignal {
  return mark in result ? (result as Marked)[mark] : {};
}
