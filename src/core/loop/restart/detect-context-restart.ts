// A tool result requests a context restart if its `type` is `context_restart_*` and if the tool called `contextRestart`. Equal
// data from another source does not request a restart.

import type { Json } from "../../types/json.ts";
import type { RestartPolicy } from "../../types/policies.ts";
import { isRecord } from "../../utils/guards.ts";
import type { ContextRestart, ToolOutcome } from "../../types/tool-outcome.ts";

const namespace = "context_restart_";

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

function hiddenBy(policy: RestartPolicy | undefined, suffix: string): readonly string[] {
  const effects = policy?.effects;
  return effects !== undefined && Object.hasOwn(effects, suffix) ? (effects[suffix] ?? []) : [];
}

function namesIn(value: Json | undefined): readonly string[] {
  return Array.isArray(value) ? value.filter((name) => typeof name === "string") : [];
}
