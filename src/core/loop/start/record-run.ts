// The first step of a run: says which run its journal belongs to, so that another one is refused instead of being answered with
// somebody else's words.

import type { Json } from "../../types/json.ts";
import { LoopError } from "../../errors/loop-error.ts";
import { digest, stableJson } from "../../utils/stable-json.ts";
import { recordVersion, type RunPrint, type RunRecord, type RunStart } from "../state/run-record.ts";
import { runKey } from "../state/step-key.ts";
import { toShown } from "../../tools/shown-tool.ts";
import { toRepetition } from "../run/resolve-policies.ts";
import type { Run } from "../run/run.ts";
import { runStep } from "../run/run-step.ts";

/** Records what run this is, or compares. Throws LoopError "journal-mismatch". */
export function recordRun(run: Run): void | PromiseLike<void> {
  // Nobody can go on with a run inside a call by itself, unless it has a journal of its own.
  const isReached = run.outer === undefined || (run.isPart ? run.journal.durable : run.options.journal !== undefined);
  if (!isReached) return undefined;
  const print = describeRun(run);
  const body = (): RunRecord => ({ ...print, ...describeStart(run) });
  const step = { key: runKey, kind: "run" as const, input: print as unknown as Json, run: body };
  return runStep(step, run, (recorded, live) => {
    compare(recorded, print);
    run.firstTools = { shown: recorded.tools, registered: live ? run.visibleTools.registered : undefined };
  });
}

function describeRun({ options: { runId }, visibleTools, state }: Run): RunPrint {
  const tools = visibleTools.source.map((tool) => [tool.name, toShown(tool)] as const);
  const named = runId === undefined ? {} : { runId };
  return {
    version: recordVersion,
    ...named,
    tools: Object.fromEntries(tools),
    messagesDigest: digest(stableJson(state.messages)),
  };
}

/** For readers that do not have the options of the run: see `inspectJournal`. */
function describeStart({ options, bounds: { loopRule }, state }: Run): RunStart {
  const repetition = toRepetition(options.policies?.loopDetection);
  const isTold = repetition !== undefined && loopRule?.action === "inject-warning";
  return {
    // The list of the state grows with the run.
    messages: [...state.messages],
    ...(options.pricing === undefined ? {} : { priced: true }),
    ...(isTold ? { loops: { repetition, rule: loopRule } } : {}),
  };
}

function compare(recorded: RunPrint, now: RunPrint): void {
  for (const field of ["version", "runId", "messagesDigest"] as const) {
    const isUnnamed = field === "runId" && (recorded.runId === undefined || now.runId === undefined);
    if (isUnnamed || recorded[field] === now[field]) continue;
    throw new LoopError("journal-mismatch", { field, expected: String(now[field]), received: String(recorded[field]) });
  }
}
