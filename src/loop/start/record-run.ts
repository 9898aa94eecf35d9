// The first step of a run: says which run its journal belongs to, so that another one is refused instead of being answered with
// somebody else's words.

import type { Json } from "../../contract/json.ts";
import type { ShownTool } from "../../contract/tool-change.ts";
import { LoopError } from "../../errors/loop-error.ts";
import { digest, stableJson } from "../../kit/stable-json.ts";
import { toShown } from "../../tools/shown-tool.ts";
import type { Run } from "../run/run.ts";
import { runStep } from "../run/run-step.ts";
import { runKey } from "../../state/step-key.ts";

/** The format of the records. */
const version = 2;

type RunRecord = {
  readonly version: number;
  /** Not there where the caller named none. */
  readonly runId?: string;
  /** The tools that it began with. */
  readonly tools: { readonly [name: string]: ShownTool };
  readonly messagesDigest: string;
};

/** Records what run this is, or compares. Throws LoopError "journal-mismatch". */
export function recordRun(run: Run): void | PromiseLike<void> {
  // Nobody can go on with a run inside a call by itself, unless it has a journal of its own.
  const isReached = run.outer === undefined || (run.isPart ? run.journal.durable : run.options.journal !== undefined);
  if (!isReached) return undefined;
  const record = describeRun(run);
  const step = { key: runKey, kind: "run" as const, input: record as unknown as Json, run: () => record };
  return runStep(step, run, (recorded, live) => {
    compare(recorded, record);
    run.firstTools = { shown: recorded.tools, registered: live ? run.exposure.registered : undefined };
  });
}

function describeRun({ options: { runId }, exposure, state }: Run): RunRecord {
  const tools = exposure.source.map((tool) => [tool.name, toShown(tool)] as const);
  const named = runId === undefined ? {} : { runId };
  return { version, ...named, tools: Object.fromEntries(tools), messagesDigest: digest(stableJson(state.messages)) };
}

function compare(recorded: RunRecord, now: RunRecord): void {
  for (const field of ["version", "runId", "messagesDigest"] as const) {
    const isUnnamed = field === "runId" && (recorded.runId === undefined || now.runId === undefined);
    if (isUnnamed || recorded[field] === now[field]) continue;
    throw new LoopError("journal-mismatch", { field, expected: String(now[field]), received: String(recorded[field]) });
  }
}
