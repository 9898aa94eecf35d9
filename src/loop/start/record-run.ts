// The first step of a run: says which run its journal belongs to, so that another one is refused instead of being answered with
// somebody else's words.

import { LoopError } from "../../errors/loop-error.ts";
import { memoize } from "../../kit/memoize.ts";
import { digest, stableJson } from "../../kit/stable-json.ts";
import type { Run } from "../run/run.ts";
import { runStep } from "../run/run-step.ts";

/** The format of the records. */
const version = 2;

type RunRecord = {
  readonly version: number;
  /** Not there where the caller named none. */
  readonly runId?: string;
  readonly toolHashes: { readonly [name: string]: string };
  readonly messagesDigest: string;
};

/** Records what run this is, or compares. Throws LoopError "journal-mismatch" or "tools-changed". */
export function recordRun(run: Run): void | PromiseLike<void> {
  // Nobody can go on with a run inside a call by itself, unless it has a journal of its own.
  const isReached = run.outer === undefined || (run.isPart ? run.journal.durable : run.options.journal !== undefined);
  if (!isReached) return undefined;
  const record = describeRun(run);
  const step = { key: "run", kind: "run" as const, input: record, run: () => record };
  return runStep(step, run, (recorded) => compare(recorded, record));
}

function describeRun({ options: { runId }, exposure, state }: Run): RunRecord {
  const hashes = exposure.source.map(({ name, inputSchema }) => [name, hashOf(inputSchema)] as const);
  const named = runId === undefined ? {} : { runId };
  return { version, ...named, toolHashes: Object.fromEntries(hashes), messagesDigest: digest(stableJson(state.messages)) };
}

/** Tools are made once and run often. */
const hashOf = memoize((schema: object) => digest(stableJson(schema)));

function compare(recorded: RunRecord, now: RunRecord): void {
  for (const field of ["version", "runId", "messagesDigest"] as const) {
    const isUnnamed = field === "runId" && (recorded.runId === undefined || now.runId === undefined);
    if (isUnnamed || recorded[field] === now[field]) continue;
    throw new LoopError("journal-mismatch", { field, expected: String(now[field]), received: String(recorded[field]) });
  }
  const names = new Set([...Object.keys(recorded.toolHashes), ...Object.keys(now.toolHashes)]);
  const changed = [...names].filter((name) => recorded.toolHashes[name] !== now.toolHashes[name]);
  if (changed.length > 0) throw new LoopError("tools-changed", { changed });
}
