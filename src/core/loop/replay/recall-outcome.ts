// Runs a durable tool's code again with its recorded results, up to the first step that is not recorded.

import type { Outcome, Wait } from "../../types/middleware.ts";
import { Activity } from "../activity.ts";
import { ReplayJournal } from "./replay-journal.ts";

interface Recalling {
  /** Runs the tool's code. */
  execute(fork: Activity): Promise<Outcome>;
  /** Returns the name of an answer that arrived after the call had ended. */
  findLate(path: string): Promise<string | undefined>;
}

interface RecalledOutcome {
  readonly outcome: Outcome;
  readonly late: string | undefined;
}

/** Returns the recorded outcome of a durable tool, after its code has run again with the recorded results. */
export async function recallOutcome(
  activity: Activity,
  key: string,
  { execute, findLate }: Recalling,
): Promise<RecalledOutcome | undefined> {
  const { run, path, journal } = activity;
  const outcome = (await activity.inCore(async () => (await journal.read(key)) ?? null)) as Outcome | null;
  if (outcome !== null) {
    activity.isLive = false;
    if (outcome.kind !== "interrupted" && outcome.kind !== "not-run") await replayTool(activity, execute);
    return { outcome, late: await activity.inCore(() => findLate(run.path + path)) };
  }
  // The run was cancelled before anything new happened, so the tool is replayed only to find out what its call is waiting for.
  if (!run.isReplayed || run.scope.cause === undefined) return undefined;
  const waits = await replayTool(activity, execute);
  if (waits !== undefined) return activity.park(waits);
  // Adds the recorded spending of nested runs that have not ended.
  for (const { path: inner, state } of run.nested) if (inner.startsWith(`${run.path}${path}/`)) activity.spent.push(state);
  return undefined;
}

/**
 * Runs a durable tool's code with its recorded results only, so that middleware sees the same inner calls and runs as before. Returns what
 * the call is waiting for.
 */
async function replayTool(activity: Activity, execute: Recalling["execute"]): Promise<readonly Wait[] | undefined> {
  const replay = new ReplayJournal(activity.journal);
  const fork = new Activity(activity.run, { ...activity, journal: replay, isEarly: false }, activity.used);
  const ended = fork.settle(execute(fork));
  const waits = await Promise.race([ended.then((end) => ("waits" in end ? end.waits : undefined)), replay.stuck]);
  fork.close();
  activity.ends ??= fork.ends;
  return waits ?? undefined;
}
