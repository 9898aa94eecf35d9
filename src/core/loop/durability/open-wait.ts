// Opens a wait for an answer from outside, and records the facts shown to the person who answers.

import type { WaitOptions } from "../../types/wait.ts";
import { convertSchema } from "../../../shared/argument-schema.ts";
import { edges } from "../../../shared/edges.ts";
import { toShown } from "../../tools/registry.ts";
import { type Activity, Parked, type AskedFor, type OpenedWait, type Owner, pastOf } from "../activity.ts";
import { isReplay, waitKey } from "../journals.ts";
import { activityOf, toolOf } from "../recorder.ts";

/** Waits for an answer on behalf of a hook or a tool. Throws in a run that cannot wait. */
export function waitAs<Answer>(by: Owner, { what, facts, options }: AskedFor<Answer>): Promise<Answer | null> {
  const activity = activityOf(by);
  const { run, path } = activity;
  const { owner } = by;
  if (!run.mayWait) throw new Error("This nested run cannot wait for answers. Start it with defineAgentTool.");
  if (owner !== "tool" && !isReplay(activity.journal)) edges.checkGiven?.("wait", { what, by: owner });
  const id = run.path + activity.unique(path, "#");
  return activity.inCore(() => openWait(activity, { id, what, facts, ...subjectOf(by, what) }, options));
}

/** Returns the call that a wait is about. Approvals and results need none, because their facts already describe the call. */
function subjectOf(by: Owner, what: string): Pick<OpenedWait, "call"> {
  const { owner, given } = by;
  if (given === undefined || what === "approval" || what === "result") return {};
  const { name, args } = given;
  const tool = owner === "tool" ? undefined : toolOf(activityOf(by));
  return { call: { name, args, ...(tool !== undefined && { tool: toShown(tool) }) } };
}

/** Records the facts shown to the person, unless an earlier execution has done so. The answer comes in a later execution. */
export async function openWait<Answer>(
  activity: Activity,
  wait: OpenedWait,
  options: WaitOptions<Answer>,
): Promise<Answer | null | Parked> {
  const { run } = activity;
  const { until, schema, fromPage } = options;
  if (activity.isEarly) return new Parked([]);
  const { id, ...facts } = wait;
  const made = schema && convertSchema(schema);
  const json = made && "json" in made ? made.json : undefined;
  const shown = { ...facts, until, schema: json, fromPage: fromPage || undefined };
  const past = pastOf(run);
  if (past !== undefined) return past.findAnswer(activity, { id, ...shown }, options);
  const key = waitKey(id);
  await activity.record(`${key}/asked`, () => shown);
  if (until === undefined || run.now < until || run.scope.cause !== undefined) return new Parked([{ id, ...shown }]);
  await activity.record(`${key}/answer`, () => ({ value: null }));
  options.answered?.(id);
  return null;
}
