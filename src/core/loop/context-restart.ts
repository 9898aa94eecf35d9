// Lets a tool result request a context restart. Only `contextRestart` makes such results: the same JSON from any other source is plain
// data.

import type { Json } from "../types/common.ts";
import type { RestartPolicy } from "../types/middleware-options.ts";
import { isRecord } from "../../shared/guards.ts";
import type { ContextRestart, ToolOutcome } from "../types/tool-outcome.ts";
import type { ToolResult } from "../types/tool.ts";
import { markSignal, toolResult } from "../tools/tool-result.ts";
import { checkFields, type Checks, is } from "../../shared/errors/check-fields.ts";

/** The fields of `contextRestart`. */
export interface ContextRestartFields {
  /** `context_restart_` followed by a suffix that you choose. */
  readonly type: `context_restart_${string}`;
  /** An object or an array to add to the context items. Default: none. */
  readonly enhanced_context_item?: object | null | undefined;
  /** The names of tools to hide for the rest of the run. Default: none. */
  readonly disable_tools?: readonly string[] | undefined;
  /** The key of an item in the `stash` of `contextRestarts`. The item is added to the context items. Default: none. */
  readonly pending_context_key?: string | undefined;
}

const namespace = "context_restart_";

/**
 * Creates a tool result that requests a context restart: the run adds context items and continues. A plain object with the same fields is
 * ordinary data, so text from a web page or a server cannot request a restart.
 *
 * Throws LoopError "unknown-option" or "invalid-option" if a field is unknown or has the wrong type.
 *
 * @example return contextRestart({ type: "context_restart_profile", enhanced_context_item: await loadProfile(user) });
 */
export function contextRestart(fields: ContextRestartFields): ToolResult {
  // Defined here because a module-level table would read properties of `is`, so bundlers would keep it even if it is unused.
  const checks: Checks<ContextRestartFields> = {
    type: [`"${namespace}" followed by a suffix`, isRestartType, undefined, true],
    enhanced_context_item: ["an object or an array", (value) => typeof value === "object"],
    disable_tools: is.texts,
    pending_context_key: is.text,
  };
  checkFields("contextRestart", fields, checks);
  return markSignal(toolResult({ data: { ...fields } }), { restart: true });
}

function isRestartType(value: unknown): boolean {
  return typeof value === "string" && value.startsWith(namespace);
}

/** Returns the context restart that an outcome requests, or undefined. */
export function detectContextRestart(outcome: ToolOutcome, policy: RestartPolicy | undefined): ContextRestart | undefined {
  if (outcome.kind !== "completed" || outcome.restart !== true || !isRecord(outcome.data)) return undefined;
  const { type, enhanced_context_item: item, disable_tools: disabled, pending_context_key: key } = outcome.data;
  if (typeof type !== "string" || !type.startsWith(namespace)) return undefined;
  const suffix = type.slice(namespace.length);
  const restart = {
    suffix,
    item: typeof item === "object" && item !== null ? item : undefined,
    disableTools: [...hiddenBy(policy, suffix), ...namesIn(disabled)],
  };
  return typeof key === "string" ? { ...restart, pendingContextKey: key, pendingContext: outcome.pendingContext } : restart;
}

/** True for JSON data that looks like a context restart. It has no effect, because the tool did not return `contextRestart(...)`. */
export function isUnmarkedRestart(outcome: ToolOutcome): boolean {
  return (
    outcome.kind === "completed" && outcome.restart !== true && isRecord(outcome.data) && isRestartType(outcome.data["type"])
  );
}

function hiddenBy(policy: RestartPolicy | undefined, suffix: string): readonly string[] {
  const effects = policy?.effects;
  return effects !== undefined && Object.hasOwn(effects, suffix) ? (effects[suffix] ?? []) : [];
}

function namesIn(value: Json | undefined): readonly string[] {
  return Array.isArray(value) ? value.filter((name) => typeof name === "string") : [];
}
