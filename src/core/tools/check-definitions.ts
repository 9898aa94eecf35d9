// Checks what a registry says of its tools: at the start, and whenever it says something else.

import type { ToolDefinition } from "../types/tool.ts";
import { LoopError } from "../errors/loop-error.ts";
import { describeValue } from "../utils/describe-value.ts";
import { isRecord } from "../utils/is-record.ts";
import { findTimeoutProblem } from "../utils/number-rule.ts";
import { findSchemaProblem } from "./find-schema-problem.ts";

/** A registry of the caller's own may hold two tools of one name, of which only one could be called, or limits that no timer takes. */
export function checkDefinitions(definitions: readonly ToolDefinition[]): void {
  const seen = new Set<string>();
  for (const { name, timeoutMs, idleTimeoutMs, inputSchema } of definitions) {
    if (seen.has(name)) throw new LoopError("duplicate-tool", { toolName: name });
    seen.add(name);
    checkToolTimeout(name, "timeoutMs", timeoutMs);
    checkToolTimeout(name, "idleTimeoutMs", idleTimeoutMs);
    const problem = isRecord(inputSchema) ? findSchemaProblem(inputSchema) : `is not JSON: ${describeValue(inputSchema)}`;
    if (problem !== "") throw new LoopError("invalid-schema", { toolName: name, problem });
  }
}

function checkToolTimeout(toolName: string, trait: string, value: unknown): void {
  const problem = value === undefined ? undefined : findTimeoutProblem(value);
  if (problem === undefined) return;
  throw new LoopError("invalid-tool", {
    toolName,
    problem: `must have as "${trait}" ${problem}, but has ${describeValue(value)}`,
  });
}
