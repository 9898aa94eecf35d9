// Marks a tool's answer as one that releases results. The mark is a symbol, so that no data that a tool passes on, from a web page or a
// server for instance, can release anything.

import type { ToolResult } from "../contract/tool.ts";
import type { ContextRelease } from "../contract/tool-outcome.ts";

/** Shared by every copy of the package. */
const mark: unique symbol = Symbol.for("turnwright.ContextRelease");

type Marked = ToolResult & { readonly [mark]: ContextRelease };

/** The same answer, marked. */
export function markRelease(result: ToolResult, release: ContextRelease): ToolResult {
  const marked: Marked = Object.assign(result, { [mark]: release } as const);
  return marked;
}

/** What an answer releases, if it releases anything. */
export function releaseOf(result: ToolResult): ContextRelease | undefined {
  return mark in result ? (result as Marked)[mark] : undefined;
}
