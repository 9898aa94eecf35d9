// Replaces old messages in requests with a summary. The code that writes the summary comes with `policies.compaction`.

import type { Step } from "../types/journal.ts";
import type { CompactionAnswer } from "../types/policies.ts";
import { eventBase, type Run } from "./run/run.ts";
import { runStep } from "./run/run-step.ts";
import { applyStep } from "./state/apply-step.ts";
import { stepKey } from "./state/step-key.ts";

/** The answer if the run was resumed without the policy, before the summary was recorded. */
const withoutPolicy: CompactionAnswer = {
  kind: "failed",
  tokensBefore: 0,
  tokensAfter: 0,
  error: { name: "Error", message: "The run has no policies.compaction any more." },
};

export function compactRun(run: Run): void | PromiseLike<void> {
  const { state, events, features, meter } = run;
  const cause = state.lastInbox?.compact ?? "due";
  const start = (live: boolean): void => events.send({ type: "compaction-start", ...eventBase(run, live), cause });
  const step: Step<CompactionAnswer> = {
    key: stepKey(state, "compaction"),
    kind: "model",
    input: null,
    run: () => {
      start(true);
      return features.compaction?.compact(run) ?? withoutPolicy;
    },
  };
  return runStep(step, run, (answer, live) => {
    if (!live) start(false);
    const { kind: outcome, tokensBefore, tokensAfter, spending } = answer;
    const { usage, costUSD } = spending ?? {};
    if (spending !== undefined) meter.add({ tokens: usage?.totalTokens, costUSD, costUnknown: costUSD === undefined });
    applyStep(state, { kind: "compaction", answer });
    const error = answer.kind === "failed" ? { error: answer.error } : {};
    const end = { outcome, tokensBefore, tokensAfter, usage, costUSD, ...error };
    events.send({ type: "compaction-end", ...eventBase(run, live), ...end });
  });
}
