// The tools that the model was shown. Records keep them, so that a resumed run knows which of its calls were about another tool.

import type { ShownTool, ToolCall, ToolChange } from "../types/tool-outcome.ts";
import type { ToolDefinition } from "../types/tool.ts";
import { LoopError } from "../../shared/errors/loop-error.ts";
import { findTool, findToolChanges, isBreaking, isSameTool, toShown } from "../tools/registry.ts";
import { stableJson } from "../../shared/json.ts";
import { type AskedWait, waitKey } from "./answers.ts";
import { HookError } from "./hooks.ts";
import { callPlace, nextKeyOf } from "./places.ts";
import type { Recalled, Run } from "./run.ts";
import type { Answer, Outcome } from "../types/middleware.ts";

export interface ShownTools {
  readonly [name: string]: ShownTool;
}

const noChanges: ReadonlyMap<string, readonly ToolChange[]> = new Map();

/** Returns what the first record keeps. */
export function describeTools(run: Run): ShownTools {
  return Object.fromEntries([...run.registered].map(([name, tool]) => [name, toShown(tool)]));
}

/** Remembers the tools of a request that is made now. */
export function noteShown(run: Run, tools: readonly ToolDefinition[]): void {
  run.shown = byName(tools);
  run.changes = noChanges;
}

/** Reads the tools of the registry before a request. */
export function readTools(run: Run): readonly ToolDefinition[] {
  try {
    const definitions = run.registry.definitions();
    if (definitions === run.definitions) return definitions;
    run.definitions = definitions;
    run.registered = byName(definitions);
    return definitions;
  } catch (error) {
    throw new HookError("tools.definitions", error);
  }
}

export function byName(tools: readonly ToolDefinition[]): ReadonlyMap<string, ToolDefinition> {
  return new Map(tools.map((tool) => [tool.name, tool]));
}

/** Adds the called tools that the first record describes in another way. */
export function withShown(run: Run, answer: Answer): Answer {
  if (answer.calls.length === 0) return answer;
  const called = new Set(answer.calls.map(({ name }) => name));
  const later = [...called].flatMap((name) => {
    const tool = run.shown.get(name);
    const shown = tool && toShown(tool);
    const first = findOwn(run.firstTools, name);
    return shown === undefined || isSame(first, shown) ? [] : [[name, shown] as const];
  });
  return later.length === 0 ? answer : { ...answer, shownTools: Object.fromEntries(later) };
}

function isSame(first: ShownTool | undefined, shown: ShownTool): boolean {
  return first === shown || (first !== undefined && stableJson(first) === stableJson(shown));
}

function findOwn(tools: ShownTools | undefined, name: string): ShownTool | undefined {
  return tools !== undefined && Object.hasOwn(tools, name) ? tools[name] : undefined;
}

/** Restores the tools of a recorded request, and finds out which of them have changed. */
export function recallShown(run: Run, answer: Answer): void {
  const live = run.registered;
  const calls = [...run.state.current.calls, ...answer.calls];
  const called = new Set(calls.map(({ name }) => name));
  const shown = new Map<string, ToolDefinition>();
  const changes = new Map<string, readonly ToolChange[]>();
  for (const name of new Set([...answer.visibleTools, ...unseen(answer, calls)])) {
    const now = live.get(name);
    const was = findOwn(answer.shownTools, name) ?? findOwn(run.firstTools, name);
    const tool = toRecalled(name, now, was);
    if (tool !== undefined) shown.set(name, tool);
    if (!called.has(name)) continue;
    const found = was === undefined ? missing(name, now) : findToolChanges(name, was, now && toShown(now));
    if (found.length > 0) changes.set(name, found);
  }
  run.shown = shown;
  run.changes = changes;
}

function missing(toolName: string, now: ToolDefinition | undefined): readonly ToolChange[] {
  return now === undefined ? [{ toolName, kind: "removed" }] : [];
}

/** The names of called tools that were not refused, which the model may have known without seeing them. */
function unseen({ refusals = [] }: Answer, calls: readonly ToolCall[]): readonly string[] {
  const refused = new Set(refusals.map(({ call }) => call.callId));
  return calls.flatMap(({ callId, name }) => (refused.has(callId) ? [] : [name]));
}

/** A tool that needed approval when it was shown still needs it for the calls that are recorded. */
function toRecalled(name: string, now: ToolDefinition | undefined, was: ShownTool | undefined): ToolDefinition | undefined {
  if (now === undefined) return was && { name, description: was.description, inputSchema: was.inputSchema };
  const { needsApproval = false } = now;
  return was?.needsApproval === undefined || needsApproval !== false ? now : { ...now, needsApproval: true };
}

/**
 * Reads what the records say about the calls of a message. Throws LoopError "tools-changed" if a tool has changed in a way that
 * does not fit a call that has not run, unless the option `allowToolChange` allows each change. A call that waited for its
 * approval is asked about again, so only the removal of its tool is an error.
 */
export async function recallCalls(run: Run, calls: readonly ToolCall[]): Promise<void> {
  run.isSettled = (await run.journal.read(run.prefix + nextKeyOf(run.state))) !== undefined;
  if (run.isSettled) return;
  const answer = run.state.answers.at(-1);
  const refused = new Set((answer?.refusals ?? []).map(({ call }) => call.callId));
  const changes = new Set<ToolChange>();
  for (const [index, call] of calls.entries()) {
    if (refused.has(call.callId)) continue;
    const recalled = await recallCall(run, { call, index });
    run.recalled.set(call.callId, recalled);
    if (recalled.hasRun) continue;
    for (const change of run.changes.get(call.name) ?? [])
      if (recalled.wasAsked ? change.kind === "removed" : isBreaking(change)) changes.add(change);
  }
  const denied = [...changes].filter((change) => !isAllowed(run, change));
  if (denied.length === 0) return;
  throw new LoopError("tools-changed", { changed: [...new Set(denied.map(({ toolName }) => toolName))], changes: denied });
}

export interface PlacedCall {
  readonly call: ToolCall;
  readonly index: number;
}

async function recallCall(run: Run, { call, index }: PlacedCall): Promise<Recalled> {
  const { callId, name } = call;
  const { journal } = run.begun.get(callId) ?? run;
  const place = run.prefix + callPlace(run.state, index, name);
  const outcome = (await journal.read(`${place}/outcome`)) as Outcome | undefined;
  if (outcome !== undefined) return { hasRun: true, hasEnded: outcome.kind !== "deferred", wasAsked: false };
  const asked = (await run.journal.read(`${waitKey({ id: run.path + callId, attempt: 1 })}/asked`)) as AskedWait | undefined;
  const ended = asked && ((await run.journal.read(`${place}/ended`)) as Outcome | undefined);
  return { hasRun: false, hasEnded: false, wasAsked: asked?.what === "approval", isLimited: ended?.kind === "limit" };
}

/** Only the value `true` allows a change. A function that throws or returns a promise allows nothing. */
function isAllowed({ options, events, state }: Run, change: ToolChange): boolean {
  let allowed: unknown;
  const ask = (): unknown => (allowed = options.allowToolChange?.(change));
  events.guard({ type: "allowToolChange", iteration: state.iteration }, ask);
  return allowed === true;
}

/** True if the registry still has the tool that it had when the tools were shown. */
export function isCurrent({ registry }: Run, definition: ToolDefinition): boolean {
  const now = findTool(registry, definition.name);
  return now !== undefined && isSameTool(now, definition);
}
