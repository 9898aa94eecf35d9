// A journal for a rerun. It answers each step before an iteration from the past of another run, so that nothing is executed
// before that iteration.

import {
  bindJournal,
  type HookAnswer,
  type InboxAnswer,
  type InboxMessage,
  iterationOf,
  type Journal,
  memoryJournal,
  type OutputAnswer,
  type Step,
  stepKey,
  streamKey,
  type UserMessage,
  whenAllReady,
  whenReady,
} from "../../core/entry-kit.ts";
import { isLoopWarning, type Past, refuseRerun } from "./past.ts";

interface ReplayOptions {
  readonly from: number;
  /** Keeps the records of the new run. Default: a journal in memory. */
  readonly base: Journal | undefined;
  /** True if the loop detection of the new run adds warnings. The replay then leaves out the warnings of the first run. */
  readonly warnsOfLoops: boolean;
}

const passed: HookAnswer = { kind: "continue" };
const accepted: OutputAnswer = { kind: "valid", value: null };

export function replayPast(past: Past, { from, base = memoryJournal(), warnsOfLoops }: ReplayOptions): Journal {
  const known = toSteps(past);
  const added = new Map<number, readonly UserMessage[]>();
  for (const [iteration, messages] of past.added)
    added.set(iteration, warnsOfLoops ? messages.filter((message) => !isLoopWarning(message)) : messages);
  let isOpen = false;

  const takeAdded = (iteration: number): readonly InboxMessage[] => {
    const messages = added.get(iteration) ?? [];
    added.delete(iteration);
    return messages.map((message) => ({ verb: "steer", message }));
  };
  /**
   * Returns a step that reads the inbox of the new run, and adds messages of the first run to the answer. Reading the inbox has
   * no side effects.
   */
  const readInbox = (step: Step<InboxAnswer>, add: (answer: InboxAnswer) => InboxAnswer): Step<InboxAnswer> => ({
    ...step,
    run: (call) => whenReady(step.run(call), add),
  });
  const withMessages = (answer: InboxAnswer, messages: readonly InboxMessage[]): InboxAnswer =>
    messages.length === 0 ? answer : { ...answer, messages: [...messages, ...(answer.messages ?? [])] };

  const replay = (step: Step<unknown>, iteration: number): Step<unknown> => {
    const { key, kind } = step;
    if (known.has(key)) return { ...step, run: () => known.get(key) };
    if (key.endsWith("/output")) return { ...step, run: () => accepted };
    if (kind === "hook") return { ...step, run: () => passed };
    if (kind === "results") return { ...step, run: () => [] };
    if (kind === "inbox" && key.includes("/inbox-end"))
      return readInbox(step as Step<InboxAnswer>, (answer) => {
        const messages = takeAdded(iteration + 1);
        if (messages.length > 0) return { ...withMessages(answer, messages), goesOn: true };
        if (isWanted(answer)) return answer;
        throw refuseRerun(from, `with these options, the run ends at iteration ${iteration} (${answer.ending?.reason.kind})`);
      });
    // Repeated iterations take no active time.
    if (kind === "inbox" && iteration < from) {
      const compact = past.compactions.get(iteration)?.cause;
      const answer = { now: 0, token: "rerun", ...(compact !== undefined && { compact }) };
      return { ...step, run: () => withMessages(answer, takeAdded(iteration)) };
    }
    if (kind === "inbox") return readInbox(step as Step<InboxAnswer>, (answer) => withMessages(answer, takeAdded(iteration)));
    throw refuseRerun(from, `with these options, the run needs the step ${key}, which the first run did not have`);
  };
  const toStep = <T>(step: Step<T>): Step<T> => {
    const iteration = iterationOf(step.key);
    isOpen ||= step.kind === "model" && iteration === from;
    const isPast = iteration >= 0 && (iteration < from || (iteration === from && step.kind === "inbox"));
    return isOpen || !isPast ? step : (replay(step, iteration) as Step<T>);
  };
  return {
    ...bindJournal(base),
    step: (step) => base.step(toStep(step)),
    all: (steps) => {
      const wanted = steps.map(toStep);
      return isOpen ? base.all(wanted) : whenAllReady(wanted.map((step) => base.step(step)));
    },
  };
}

/** True if the caller ends or drains the new run during the replay. */
function isWanted({ ended, ending }: InboxAnswer): boolean {
  return ended !== undefined || ending?.status === "suspended" || ending?.status === "follow-up-interrupt";
}

function toSteps({ iterations, compactions }: Past): ReadonlyMap<string, unknown> {
  const steps = new Map<string, unknown>();
  for (const [iteration, { answer }] of compactions) steps.set(stepKey({ iteration, retry: 0 }, "compaction"), answer);
  for (const [iteration, { streams, results }] of iterations.entries()) {
    const place = { iteration, retry: 0 };
    for (const [continuation, stream] of streams.entries()) steps.set(streamKey({ ...place, continuation }, "model"), stream);
    if (results.length > 0) steps.set(`i${iteration}/results`, results);
  }
  return steps;
}
