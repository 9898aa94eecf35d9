// Refuses to go on with recorded calls whose tools have changed so that the calls do not fit them any more.

import type { ToolChange } from "../../types/tool-change.ts";
import { LoopError } from "../../errors/loop-error.ts";
import type { BatchEntry } from "./batch-entry.ts";
import type { Run } from "../run/run.ts";

/**
 * Throws LoopError "tools-changed" for calls of a recorded iteration, unless `policies.allowToolChange` allows each change. A call that somebody
 * decides about is asked about again instead, but not without its tool.
 */
export function refuseChangedTools(run: Run, entries: readonly BatchEntry[]): void {
  const { recorded } = run.visibleTools;
  if (recorded === undefined || recorded.changes.size === 0) return;
  const changes = new Map(
    entries.map((entry) => [nameOf(entry), changesOf(entry, recorded.changes.get(nameOf(entry)))] as const),
  );
  const refused = [...changes.values()].flat().filter((change) => !isAllowed(run, change));
  if (refused.length === 0) return;
  throw new LoopError("tools-changed", { changed: [...new Set(refused.map(({ toolName }) => toolName))], changes: refused });
}

/** Only a clear yes counts: a policy that fails, or gives a promise, allows nothing. */
function isAllowed({ options, events, state }: Run, change: ToolChange): boolean {
  let allowed: unknown;
  const ask = (): unknown => (allowed = options.policies?.allowToolChange?.(change));
  events.guard({ type: "allowToolChange", iteration: state.iteration }, ask);
  return allowed === true;
}

function nameOf(entry: BatchEntry): string {
  return entry.kind === "over" ? entry.outcome.call.name : entry.call.name;
}

function changesOf(entry: BatchEntry, changes: readonly ToolChange[] = []): readonly ToolChange[] {
  if (entry.kind === "ready") return entry.approved === true ? changes.filter(isRemoval) : changes;
  return entry.kind === "awaiting" ? changes.filter(isRemoval) : [];
}

function isRemoval({ kind }: ToolChange): boolean {
  return kind === "removed";
}
