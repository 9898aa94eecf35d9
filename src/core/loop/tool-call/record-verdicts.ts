// Recorded decisions and validations, and calls whose tool has changed since.

import type { ApprovalDecision } from "../../types/policies.ts";
import type { ShownTool, ToolCall, ToolChange, ToolOutcome } from "../../types/tool-outcome.ts";
import { assertNever } from "../../utils/assert-never.ts";
import type { Cancelled, FailedApproval } from "../../policies/approval.ts";
import type { Prepared, ReadyCall } from "../run/call.ts";
import type { Run } from "../run/run.ts";
import { LoopError } from "../../errors/loop-error.ts";
import type { BatchEntry, OverCall } from "./batch-entry.ts";
import type { Step } from "../../types/journal.ts";
import { isThenable } from "../../utils/guards.ts";
import { prepareCall, toUnfit } from "./prepare-call.ts";
import { runStep, runSteps } from "../run/run-step.ts";
import { callKey } from "../state/step-key.ts";

/** A question that nobody could answer in the execution that asked it. */
export interface OpenQuestion {
  readonly kind: "ask";
  readonly token: string;
  /** What was shown of the tool: a decision holds for that. */
  readonly tool: ShownTool;
  /** What had changed since the question before. */
  readonly changes?: readonly ToolChange[];
  /** How many questions about the call came before; absent for none. */
  readonly earlier?: number;
  /** The decision that is not used, because it was about the question before. */
  readonly passed?: ApprovalDecision;
  /** Set if the call does not fit into `maxToolCalls`, so that no decision is taken. */
  readonly isBeyond?: true | undefined;
}

/** The name of a question in the option `decisions`: a decision about one question is never taken for another one. */
export function questionId(callId: string, earlier = 0): string {
  return earlier === 0 ? callId : `${callId}#${earlier + 1}`;
}

/** What the journal keeps: a decision, why there is none, or a question that is open. */
export type RecordedDecision =
  /** `tool` is what it is about, where that is not the tool of the iteration. */
  | (Extract<ApprovalDecision, { kind: "approve" | "modify" }> & { readonly tool?: ShownTool })
  | Extract<ApprovalDecision, { kind: "deny" }>
  | Cancelled
  | FailedApproval
  /** The call does not fit its tool as it is now. */
  | { readonly kind: "refused"; readonly outcome: ToolOutcome }
  | OpenQuestion;

/** What settles a question. */
export type FinalDecision = Exclude<RecordedDecision, OpenQuestion>;

/** What became of a call's arguments; "cut" where the run was ended meanwhile. */
export type Verdict = { readonly kind: "fits" | "cut" } | { readonly kind: "refused"; readonly outcome: ToolOutcome };

/** How a call that is a run began: the run was started, the call is over without one, or somebody has to decide about it first. */
export type BegunRecord =
  | { readonly kind: "begun" }
  | { readonly kind: "over"; readonly outcome: ToolOutcome }
  | { readonly kind: "must-ask"; readonly mustAsk: NonNullable<ReadyCall["mustAsk"]> };

/** The outcome of a call that a decision keeps from running; undefined for one that may run. */
export function refusedBy(decision: FinalDecision, call: ToolCall): ToolOutcome | undefined {
  switch (decision.kind) {
    case "approve":
    case "modify":
      return undefined;
    case "deny":
      return { call, durationMs: 0, kind: "denied", reason: decision.reason };
    case "failed":
      return { call, durationMs: 0, kind: "approval-failed", error: decision.error };
    case "refused":
      return decision.outcome;
    case "cancelled":
      return { call, durationMs: 0, kind: "not-run" };
    default:
      return assertNever(decision);
  }
}

/** The outcome of a call whose arguments keep it from running. What was cut off never runs. */
export function unfitBy(verdict: Verdict | undefined, call: ToolCall): ToolOutcome | undefined {
  switch (verdict?.kind) {
    case "refused":
      return verdict.outcome;
    case "cut":
      return { call, durationMs: 0, kind: "not-run" };
    case "fits":
    case undefined:
      return undefined;
    default:
      return assertNever(verdict);
  }
}

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

/** A call whose arguments took their time, and its place in the journal. */
interface Validated {
  readonly entry: Prepared;
  readonly key: string;
}

/** A call of a batch as its schema found it, and whether what the schema says is a step of its own. */
interface Found {
  readonly entry: Prepared | Promise<Prepared>;
  readonly isLate: boolean;
}

/**
 * Finds how a call of the turn was found when its stream ended. The record has the last word: what was refused stays refused, and what
 * was fit keeps its outcome, or is refused if it has none.
 */
export function createRecall(run: Run): (call: ToolCall) => Found {
  const { state, ports, prepared } = run;
  const { refusals = [], lateChecks = [] } = state.streamResults.at(-1) ?? {};
  const refused = new Map(refusals.map((outcome) => [outcome.call.callId, outcome]));
  const late = new Set(lateChecks);
  return (call) => {
    const isLate = late.has(call.callId);
    const found = prepared?.get(call.callId);
    if (found !== undefined) return { entry: found, isLate };
    const refusal = refused.get(call.callId);
    if (refusal !== undefined) return { entry: refusal, isLate };
    const entry = prepareCall(call, ports);
    if (isLate) return { entry, isLate };
    return { entry: isThenable(entry) ? entry.then((one) => keepFit(run, one)) : keepFit(run, entry), isLate };
  };
}

/** A call that was not refused then may have run. */
function keepFit({ ports }: Run, entry: Prepared): Prepared {
  return entry.kind === "ready" ? entry : toUnfit(entry, ports);
}

/** Waits for the validations of a batch, if any takes its time. */
export function awaitValidations(
  run: Run,
  asked: readonly (Found | OverCall)[],
): readonly BatchEntry[] | Promise<readonly BatchEntry[]> {
  const entries: BatchEntry[] = [];
  for (const one of asked) {
    if (!("entry" in one)) entries.push(one);
    else if (!one.isLate && !isThenable(one.entry)) entries.push(one.entry);
  }
  return entries.length === asked.length ? entries : validateLate(run, asked);
}

async function validateLate(run: Run, asked: readonly (Found | OverCall)[]): Promise<readonly BatchEntry[]> {
  const entries: BatchEntry[] = [];
  const late: (Validated & { readonly index: number })[] = [];
  for (const [index, one] of asked.entries()) {
    const entry = "entry" in one ? await one.entry : one;
    entries.push(entry);
    if (!("entry" in one) || !one.isLate || entry.kind === "over") continue;
    late.push({ entry, index, key: callKey(run.state, "validation", { index, name: entry.call.name }) });
  }
  const steps = late.map((one) => verdictStep(run, one));
  const verdicts = await runSteps(steps, run, (answers) => answers);
  for (const [position, { entry, index }] of late.entries()) entries[index] = obey(run, entry, verdicts[position]);
  return entries;
}

/** Records what became of one call, or finds it recorded. What was cut off never runs. */
export function recordVerdict(run: Run, validated: Validated): Prepared | PromiseLike<Prepared> {
  return runStep(verdictStep(run, validated), run, (verdict) => obey(run, validated.entry, verdict));
}

function verdictStep(run: Run, { entry, key }: Validated): Step<Verdict> {
  const { callId, name, args } = entry.call;
  const body = (): Verdict => {
    if (entry.kind !== "ready") return { kind: "refused", outcome: entry };
    return { kind: run.scope.cause === undefined ? "fits" : "cut" };
  };
  return { key, kind: "validation", input: { callId, name, args }, run: body };
}

function obey(run: Run, entry: Prepared, verdict: Verdict | undefined): Prepared {
  return unfitBy(verdict, entry.call) ?? (verdict?.kind === "fits" ? keepFit(run, entry) : entry);
}
