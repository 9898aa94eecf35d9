// Reads what the journal recorded about a message's tools and calls.

import type { ShownTool, ToolCall, ToolChange } from "../../types/tool-outcome.ts";
import type { ToolDefinition } from "../../types/tool.ts";
import { LoopError } from "../../../shared/errors/loop-error.ts";
import { findToolChanges, isBreaking, toShown } from "../../tools/registry.ts";
import type { Answer, Outcome } from "../../types/middleware.ts";
import { type AskedWait, callPlace, type PlacedCall, waitKey } from "../journals.ts";
import type { Recalled } from "../past.ts";
import type { Run } from "../run.ts";
import { findOwn } from "../durability/record-run.ts";

export type ToolChanges = ReadonlyMap<string, readonly ToolChange[]>;

/** Restores the tools of a recorded request. Returns the changes to the called tools since then, by tool name. */
export function recallTools(run: Run, answer: Answer): ToolChanges {
  const live = run.registered;
  const calls = [...run.state.current.calls, ...answer.calls];
  const called = new Set(calls.map(({ name }) => name));
  const shown = new Map<string, ToolDefinition>();
  const changes = new Map<string, readonly ToolChange[]>();
  for (const name of new Set([...answer.visibleTools, ...unseen(answer, calls)])) {
    const now = live.get(name);
    const was = findOwn(answer.shownTools, name) ?? findOwn(run.first?.tools, name);
    const tool = toRecalled(name, now, was);
    if (tool !== undefined) shown.set(name, tool);
    if (!called.has(name)) continue;
    const found = was === undefined ? missing(name, now) : findToolChanges(name, was, now && toShown(now));
    if (found.length > 0) changes.set(name, found);
  }
  run.shown = shown;
  return changes;
}

function missing(toolName: string, now: ToolDefinition | undefined): readonly ToolChange[] {
  return now === undefined ? [{ toolName, kind: "removed" }] : [];
}

/** Returns the names of called tools that were neither shown in the request nor refused. */
function unseen({ refusals = [] }: Answer, calls: readonly ToolCall[]): readonly string[] {
  const refused = new Set(refusals.map(({ call }) => call.callId));
  return calls.flatMap(({ callId, name }) => (refused.has(callId) ? [] : [name]));
}

/** Returns a recorded tool as it is now. Its calls still need approval if the tool needed approval when it was shown. */
function toRecalled(name: string, now: ToolDefinition | undefined, was: ShownTool | undefined): ToolDefinition | undefined {
  if (now === undefined) return was && { name, description: was.description, inputSchema: was.inputSchema };
  const { needsApproval = false } = now;
  return was?.needsApproval === undefined || needsApproval !== false ? now : { ...now, needsApproval: true };
}

/**
 * Reads what the records say about the calls in a message. Throws LoopError "tools-changed" if a tool has changed in a way that is
 * incompatible with a call that has not run, unless the `allowToolChange` option allows each change. A call that waited for approval needs
 * a new decision anyway, so only the removal of its tool is an error.
 */
export async function recallCalls(
  run: Run,
  calls: readonly ToolCall[],
  changesOf: ToolChanges,
): Promise<ReadonlyMap<string, Recalled>> {
  const found = new Map<string, Recalled>();
  const answer = run.state.answers.at(-1);
  const refused = new Set((answer?.refusals ?? []).map(({ call }) => call.callId));
  const changes = new Set<ToolChange>();
  for (const [index, call] of calls.entries()) {
    if (refused.has(call.callId)) continue;
    const recalled = await recallCall(run, { call, index });
    found.set(call.callId, recalled);
    if (recalled.hasRun) continue;
    for (const change of changesOf.get(call.name) ?? [])
      if (recalled.wasAsked ? change.kind === "removed" : isBreaking(change)) changes.add(change);
  }
  const denied = [...changes].filter((change) => !isAllowed(run, change));
  if (denied.length === 0) return found;
  throw new LoopError("tools-changed", { changed: [...new Set(denied.map(({ toolName }) => toolName))], changes: denied });
}

async function recallCall(run: Run, { call, index }: PlacedCall): Promise<Recalled> {
  const { callId, name } = call;
  const { journal } = run.begun.get(callId) ?? run;
  const place = run.prefix + callPlace(run.state, index, name);
  const outcome = (await journal.read(`${place}/outcome`)) as Outcome | undefined;
  if (outcome !== undefined) return { hasRun: true, hasEnded: outcome.kind !== "deferred", wasAsked: false };
  const asked = (await run.journal.read(`${waitKey(run.path + callId)}/asked`)) as AskedWait | undefined;
  return { hasRun: false, hasEnded: false, wasAsked: asked?.what === "approval" };
}

/** Asks `allowToolChange` about a change. Only the value `true` allows it; an error or a promise does not. */
function isAllowed({ options, events, state }: Run, change: ToolChange): boolean {
  let allowed: unknown;
  const ask = (): unknown => (allowed = options.allowToolChange?.(change));
  events.guard({ type: "allowToolChange", iteration: state.iteration }, ask);
  return allowed === true;
}
