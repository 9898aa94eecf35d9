// Records the steps of a run, what identifies the run, and what middleware has changed about an answer.

import type { Json } from "../../types/common.ts";
import type { Journal } from "../../types/journal.ts";
import type { Answer } from "../../types/middleware.ts";
import type { NestedSpending, ShownTool } from "../../types/tool-outcome.ts";
import { isThenable } from "../../../shared/guards.ts";
import { sumSpending } from "../../../shared/count-usage.ts";
import { digest, isSameJson, stableJson } from "../../../shared/json.ts";
import { toShown } from "../../tools/registry.ts";
import type { Activity } from "../activity.ts";
import { recordingNames } from "../hooks.ts";
import { type FirstRecord, isReplay, recordVersion } from "../journals.ts";
import type { RecordingRun, Run } from "../run.ts";

/** Records a step, and counts it while it is open. */
export function record<T>({ run, by }: RecordingRun, key: string, body: () => T | PromiseLike<T>): T | PromiseLike<T> {
  const { past } = run;
  const { journal } = by;
  const made = past === undefined ? journal.step(key, body) : past.record(key, body, by);
  return isThenable(made) ? count(run, made, journal) : made;
}

async function count<T>({ root }: Run, step: PromiseLike<T>, journal: Journal): Promise<T> {
  // Does not count steps of a replay journal, because a step without a record would stay open forever.
  const counted = isReplay(journal) ? 0 : 1;
  root.openSteps += counted;
  try {
    return await step;
  } finally {
    root.openSteps -= counted;
    root.held?.check();
  }
}

export interface ShownTools {
  readonly [name: string]: ShownTool;
}

/** Records what identifies the run, and compares it with what an earlier execution has recorded. */
export async function recordFirst(run: Run): Promise<void> {
  const { options, state, registered, middleware, past } = run;
  const { runId, pricing, version } = options;
  const messages = [...state.messages];
  const now: FirstRecord = {
    version: recordVersion,
    ...(runId !== undefined && { runId }),
    messages,
    get messagesDigest() {
      return digest(stableJson(messages));
    },
    get middleware() {
      return recordingNames(middleware);
    },
    get tools() {
      return describeTools(registered);
    },
    ...(pricing !== undefined && { priced: true }),
    ...(version !== undefined && { codeVersion: version }),
  };
  const first = await run.step<FirstRecord>("run", () => {
    run.described = registered;
    return now;
  });
  past?.compare(first, now);
  run.first = first;
  state.codeVersion = first.codeVersion;
}

function describeTools(registered: Run["registered"]): ShownTools {
  return Object.fromEntries([...registered].map(([name, tool]) => [name, toShown(tool)]));
}

/** Adds the called tools that have changed since the first record, so that a resumed run can tell which calls were made to another tool. */
export function withShown(run: Run, answer: Answer): Answer {
  if (answer.calls.length === 0) return answer;
  const later = answer.calls.flatMap(({ name }) => {
    const tool = run.shown.get(name);
    if (tool === undefined || tool === run.described.get(name)) return [];
    const shown = toShown(tool);
    return isSame(findOwn(run.first?.tools, name), shown) ? [] : [[name, shown] as const];
  });
  return later.length === 0 ? answer : { ...answer, shownTools: Object.fromEntries(later) };
}

function isSame(first: ShownTool | undefined, shown: ShownTool): boolean {
  return first === shown || (first !== undefined && stableJson(first) === stableJson(shown));
}

export function findOwn(tools: ShownTools | undefined, name: string): ShownTool | undefined {
  return tools !== undefined && Object.hasOwn(tools, name) ? tools[name] : undefined;
}

/** The record of a request after middleware has changed its answer or spending, for readers that do not run the middleware. */
export interface RequestEnd {
  /** The changed fields of the answer. */
  readonly changes: Partial<Answer>;
  /** The usage and cost of the middleware. */
  readonly spent?: NestedSpending | undefined;
}

export async function recordRequestEnd(
  { run, place, spent }: Activity,
  answer: Answer,
  streamed: Answer | undefined,
): Promise<void> {
  // Does not record the changes again when a run is only read, because they come from its records.
  if ((streamed === answer && spent.length === 0) || run.ports.readCall !== undefined) return;
  const before: { readonly [field: string]: Json } = (streamed ?? {}) as never;
  const fields = streamed === answer ? [] : Object.entries(answer as unknown as typeof before);
  const changes = fields.filter(([field, value]) => value !== undefined && !isSameJson(value, before[field]));
  const sum = sumSpending(spent);
  if (changes.length === 0 && sum === undefined) return;
  const end: RequestEnd = { changes: Object.fromEntries(changes), ...(sum !== undefined && { spent: sum }) };
  await run.step<RequestEnd>(`${place}/ended`, () => end);
}
