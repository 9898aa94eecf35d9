// Sees whether the answer fits the schema that it was asked for with, as a step: what the loop judges is the recorded answer.

import type { Json } from "../../types/json.ts";
import type { Validation } from "../../types/schema.ts";
import { assertNever } from "../../utils/assert-never.ts";
import { toPlainError } from "../../utils/plain-error.ts";
import { toJson } from "../../utils/to-json.ts";
import { describeMisfit, validateOutput } from "../../policies/structured-output.ts";
import { applyStep } from "../state/apply-step.ts";
import { endingOfReason } from "../state/ending-of-cause.ts";
import type { OutputAnswer } from "../state/loop-state.ts";
import { askAfterStream } from "../run/ask-hook.ts";
import type { Run } from "../run/run.ts";
import { runStep } from "../run/run-step.ts";
import { stepKey } from "../state/step-key.ts";

/** Validates the answer, or replays what came of it. */
export function judgeOutput(run: Run, mayAskAgain: boolean): void | PromiseLike<void> {
  const { state } = run;
  const step = { key: stepKey(state, "output"), kind: "hook" as const, input: null, run: () => askSchema(run) };
  return runStep(step, run, (answer) => {
    const asksAgain = answer.kind === "invalid" && mayAskAgain;
    applyStep(state, { kind: "output", answer, complaint: asksAgain ? describeMisfit(answer.issues) : undefined });
  });
}

async function askSchema(run: Run): Promise<OutputAnswer> {
  const { output, state } = run;
  // Nobody asks for this step without a schema.
  if (output === undefined) throw new Error("There is no schema for the answer.");
  const end = await askAfterStream(() => validateOutput(state.finalText, output.schema), toAnswer, run);
  switch (end.kind) {
    case "value":
      return end.value;
    case "failed":
      return { kind: "ended", ending: { status: "error", reason: { kind: "hook-failed", hook: "output", error: end.error } } };
    case "cancelled":
      return { kind: "ended", ending: endingOfReason(end.cause) };
    default:
      return assertNever(end);
  }
}

function toAnswer(answer: unknown): OutputAnswer {
  const validation = answer as Validation;
  if ("issues" in validation) return { kind: "invalid", issues: validation.issues };
  return { kind: "valid", value: toPlain(validation.value) };
}

/** The value is kept as the journal keeps it, so that a run that is replayed gives the same. */
function toPlain(value: unknown): Json {
  try {
    return toJson(value);
  } catch (error) {
    throw new TypeError(`The schema made a value that is not plain data: ${toPlainError(error).message}.`, { cause: error });
  }
}
