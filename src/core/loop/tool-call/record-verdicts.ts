// What was found of the calls is recorded, and wins: asked again, a schema may say something else, be cut off, or be in time where
// it was too late, and what the model read would not be what happened.

import type { Step } from "../../types/journal.ts";
import type { ToolCall } from "../../types/tool-outcome.ts";
import { isThenable } from "../../utils/is-thenable.ts";
import { prepareCall, toUnfit } from "./prepare-call.ts";
import type { Prepared } from "../run/prepared-call.ts";
import type { BatchEntry, OverCall } from "./batch-entry.ts";
import type { Run } from "../run/run.ts";
import { runStep, runSteps } from "../run/run-step.ts";
import { callKey } from "../state/step-key.ts";
import { unfitBy, type Verdict } from "./recorded-answers.ts";

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
