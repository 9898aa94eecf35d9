// Compacts the messages of a run before its next request, or replays a recorded compaction.

import { applyStep } from "../state/apply-step.ts";
import { eventBase, type Run } from "./run.ts";
import { runStep } from "./run-step.ts";
import { stepKey } from "../state/step-key.ts";
import { checkCompaction } from "../state/transcript.ts";
import type { CompactionAnswer } from "../../types/policies.ts";
import type { Step } from "../../types/old-journal.ts";

/** The answer if a compaction is due, but the caller resumed the run without `policies.compaction`. */
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
    run: async () => {
      start(true);
      const answer = (await features.compaction?.compact(run)) ?? withoutPolicy;
      return answer.kind === "failed" && run.scope.cause !== undefined ? { ...answer, cancelled: true } : answer;
    },
  };
  return runStep(step, run, (answer, live) => {
    if (!live) start(false);
    if (answer.kind === "compacted") checkCompaction(answer.compaction, state.messages, step.key);
    const { kind: outcome, tokensBefore, tokensAfter, spending } = answer;
    const { provider, model, usage, costUSD } = spending ?? {};
    if (spending !== undefined) meter.addUsage(spending);
    applyStep(state, { kind: "compaction", answer });
    const error = answer.kind === "failed" ? { error: answer.error } : {};
    const end = { outcome, tokensBefore, tokensAfter, provider, model, usage, costUSD, ...error };
    events.send({ type: "compaction-end", ...eventBase(run, live), ...end });
  });
}
