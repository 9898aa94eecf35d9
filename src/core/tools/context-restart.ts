import type { ToolResult } from "../types/tool.ts";
import { markSignal, toolResult } from "./to-outcome.ts";
import { checkFields, checkNeeded, type Checks, is } from "../errors/check-fields.ts";

/** The fields of `contextRestart`. */
export interface ContextRestartFields {
  /** `context_restart_` followed by a suffix that you choose. */
  readonly type: `context_restart_${string}`;
  /** An object or an array to add to the context items. Default none. */
  readonly enhanced_context_item?: object | null | undefined;
  /** Names of tools to hide for the rest of the run. Default none. */
  readonly disable_tools?: readonly string[] | undefined;
  /** The key of an item in `policies.restarts.stash`. The item is added to the context items. Default none. */
  readonly pending_context_key?: string | undefined;
}

const checks: Checks<ContextRestartFields> = {
  type: ['"context_restart_" followed by a suffix', isRestartType],
  enhanced_context_item: ["an object or an array", (value) => typeof value === "object"],
  disable_tools: is.texts,
  pending_context_key: is.text,
};

/**
 * Makes a tool result that requests a context restart: the run adds context items and goes on. A plain object with the same
 * fields is ordinary data, so data from a web page or a server cannot request a restart.
 *
 * Throws LoopError "unknown-option" or "invalid-option" if a field is unknown or has the wrong type.
 *
 * @example return contextRestart({ type: "context_restart_profile", enhanced_context_item: await loadProfile(user) });
 */
export function contextRestart(fields: ContextRestartFields): ToolResult {
  checkNeeded("contextRestart", fields, { name: "type", check: checks.type });
  checkFields("contextRestart", fields, checks);
  return markSignal(toolResult({ data: { ...fields } }), { restart: true });
}

function isRestartType(value: unknown): boolean {
  return typeof value === "string" && value.startsWith("context_restart_");
}
