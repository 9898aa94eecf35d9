// What a validation said that took its time is recorded: told again, it might be cut off, or be in time where it was too late, and what
// the model read would not be what happened.

import type { Step } from "../../contract/journal.ts";
import type { ToolOutcome } from "../../contract/tool-outcome.ts";
import { isThenable } from "../../kit/is-thenable.ts";
import type { Prepared } from "../../stages/prepare-call.ts";
import type { BatchEntry } from "./batch-entry.ts";
import type { Run } from "../run/run.ts";
import { runStep, runSteps } from "../run/run-step.ts";
import { callKey } from "../run/step-key.ts";

/** A call whose arguments took their time, and its place in the journal. */
interface Validated {
  readonly entry: Prepared;
  readonly key: string;
}

/** What became of a call's arguments; "cut" where the run was ended meanwhile. */
type Verdict = { readonly kind: "fits" | "cut" } | { readonly kind: "refused"; readonly outcome: ToolOutcome };

/** Waits for the validations of a batch, where any takes its time. */
export function awaitValidations(
  run: Run,
  asked: readonly (BatchEntry | Promise<Prepared>)[],
): readonly BatchEntry[] | Promise<readonly BatchEntry[]> {
  const entries: BatchEntry[] = [];
  for (const one of asked) if (!isThenable(one)) entries.push(one);
  return entries.length === asked.length ? entries : validateLate(run, asked);
}

async function validateLate(run: Run, asked: readonly (BatchEntry | Promise<Prepared>)[]): Promise<readonly BatchEntry[]> {
  const entries: BatchEntry[] = [];
  const late: (Validated & { readonly index: number })[] = [];
  for (const [index, one] of asked.entries()) {
    if (!isThenable(one)) entries.push(one);
    else {
      const entry = await one;
      late.push({ entry, index, key: callKey(run.state, "validation", { index, name: entry.call.name }) });
      entries.push(entry);
    }
  }
  const steps = late.map((one) => verdictStep(run, one));
  const verdicts = await runSteps(steps, run, (answers) => answers);
  for (const [position, { entry, index }] of late.entries()) entries[index] = obey(entry, verdicts[position]);
  return entries;
}

/** Records what became of one call, or finds it recorded. What was cut off never runs. */
export function recordVerdict(run: Run, validated: Validated): Prepared | PromiseLike<Prepared> {
  return runStep(verdictStep(run, validated), run, (verdict) => obey(validated.entry, verdict));
}

function verdictStep(run: Run, { entry, key }: Validated): Step<Verdict> {
  const { callId, name, args } = entry.call;
  const body = (): Verdict => {
    if (entry.kind !== "ready") return { kind: "refused", outcome: entry };
    return { kind: run.scope.cause === undefined ? "fits" : "cut" };
  };
  return { key, kind: "validation", input: { callId, name, args }, run: body };
}

function obey(entry: Prepared, verdict: Verdict | undefined): Prepared {
  if (verdict?.kind === "refused") return verdict.outcome;
  return verdict?.kind === "cut" ? { call: entry.call, durationMs: 0, kind: "not-run" } : entry;
}
