// Reserves the id and the control of a run, opens its journal, and records its first step.

import type { Journal } from "../../types/old-journal.ts";
import type { LoopControl, LoopOptions } from "../../types/loop-options.ts";
import { isLoopError, LoopError } from "../../errors/loop-error.ts";
import type { CancelReason, CancelScope } from "../../cancellation/cancel-scope.ts";
import { claims, type ControlClaim, type Nesting, type Run, type LoopDetector } from "../run/run.ts";
import type { Json } from "../../types/common.ts";
import { digest, stableJson } from "../../utils/json.ts";
import { recordVersion, runKey, type RunPrint, type RunRecord, type RunStart } from "../state/step-key.ts";
import { toShown } from "../../tools/compare-tools.ts";
import { checkCompaction } from "../state/transcript.ts";
import { describeValue } from "../../utils/texts.ts";
import { dropPromise } from "../../utils/promises.ts";
import { JournalCall } from "../run/journal-call.ts";
import { runStep } from "../run/run-step.ts";

const liveRunIds = new Set<string>();
/** The memory journals of runs in progress. A second run with such a journal would replay records of the first run. */
const liveJournals = new WeakSet<Journal>();

interface Claims {
  readonly control: ControlClaim | undefined;
  release(): void;
}

interface Claiming {
  readonly scope: CancelScope;
  readonly maxInterrupts: number;
  readonly options: LoopOptions;
  readonly runId: string;
  readonly nesting: Nesting | undefined;
}

/**
 * Reserves the run id, the journal and the control. Also cancels the run when the caller's signal or the outer run is cancelled.
 */
export function claimRun({ options, runId, scope, nesting, maxInterrupts }: Claiming): Claims {
  if (liveRunIds.has(runId)) throw new LoopError("already-running", { what: "runId", runId });
  const journal = options.journal?.durable === false ? options.journal : undefined;
  if (journal !== undefined && liveJournals.has(journal)) throw new LoopError("already-running", { what: "journal" });
  const control = options.control === undefined ? undefined : claimControl(options.control, scope, maxInterrupts);
  const letGo = scope.follow(options.signal);
  liveRunIds.add(runId);
  if (journal !== undefined) liveJournals.add(journal);
  const untie = nesting === undefined ? undefined : tie(scope, nesting.run.scope);
  return {
    control,
    release: () => {
      liveRunIds.delete(runId);
      if (journal !== undefined) liveJournals.delete(journal);
      control?.release();
      untie?.();
      letGo();
    },
  };
}

function claimControl(control: LoopControl, scope: CancelScope, maxInterrupts: number): ControlClaim {
  const claim = claims.get(control);
  if (claim !== undefined) return claim(scope, maxInterrupts);
  const expected = "a control made by createLoopControl";
  throw new LoopError("invalid-option", { option: "control", expected, received: "another object" });
}

function tie(scope: CancelScope, outer: CancelScope): () => void {
  const slot = { cancel: (cause: CancelReason): void => scope.cancel(cause), leavesReserve: true } as const;
  outer.join(slot);
  if (outer.cause !== undefined) scope.cancel(outer.cause);
  return () => outer.leave(slot);
}

export type CloseJournal = () => void | PromiseLike<void>;

/**
 * Opens the journal, and returns the function that closes it. If the journal opens too late, it is closed again. If
 * `limits.wallClockMs` expires before the journal is open, cancels the run and returns undefined: no work is done yet, so nothing
 * can be lost.
 */
export async function openJournal(run: Run, open: NonNullable<Journal["open"]>): Promise<CloseJournal | undefined> {
  const closeLate = (close: () => unknown): void => {
    try {
      dropPromise(close());
    } catch {
      // An error of `close` cannot be reported, because the run is already over.
    }
  };
  try {
    return await new JournalCall(run, "open").take(
      () => open.call(run.journal),
      (close) => toClose(run, close),
      closeLate,
    );
  } catch (error) {
    if (!isLoopError(error, "journal-unresponsive") || error.details.ended !== "wall-clock") throw error;
    run.scope.cancel({ kind: "wall-clock", limitMs: run.bounds.wallClockMs });
    return undefined;
  }
}

function toClose(run: Run, close: () => PromiseLike<void>): CloseJournal {
  const given: unknown = close;
  if (typeof given === "function") return () => closeJournal(run, close);
  const expected = "a promise of the function that closes it";
  throw new LoopError("invalid-option", { option: "journal.open()", expected, received: describeValue(given) });
}

async function closeJournal(run: Run, close: () => PromiseLike<void>): Promise<void> {
  await new JournalCall(run, "close").take(close, () => {});
}

/**
 * Records the data that identifies the run, or compares this data with the record. Throws LoopError "journal-mismatch" if the
 * data differs from the record.
 */
export function recordRun(run: Run): void | PromiseLike<void> {
  // A nested run is recorded only if it has a journal of its own, or shares a durable journal of the outer run. Without such a
  // journal, a nested run cannot be resumed.
  const isReached = run.outer === undefined || (run.sharesJournal ? run.journal.durable : run.options.journal !== undefined);
  if (!isReached) return undefined;
  const print = describeRun(run);
  const body = (): RunRecord => ({ ...print, ...describeStart(run) });
  const step = { key: runKey, kind: "run" as const, input: print as unknown as Json, run: body };
  return runStep(step, run, (recorded, live) => {
    compare(recorded, print);
    run.codeVersion = recorded.codeVersion;
    if (recorded.compaction !== undefined) checkCompaction(recorded.compaction, run.state.messages, runKey);
    run.state.compaction = recorded.compaction;
    if (run.features.handoffs !== undefined && recorded.agent !== undefined) {
      run.state.agent = recorded.agent;
      run.state.agentSince = recorded.agentSince;
    }
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

/** Returns the inputs of a run, for code that has no access to the options of the run, such as `inspectJournal`. */
function describeStart({ options, features: { loopDetection }, state }: Run): RunStart {
  return {
    // A copy, because the run adds messages to `state.messages`.
    messages: [...state.messages],
    ...(options.version === undefined ? {} : { codeVersion: options.version }),
    ...(options.pricing === undefined ? {} : { priced: true }),
    ...(state.agent === undefined ? {} : { agent: state.agent }),
    ...(state.agentSince === undefined ? {} : { agentSince: state.agentSince }),
    ...(state.compaction === undefined ? {} : { compaction: state.compaction }),
    ...(loopDetection?.action === "inject-warning" ? { loops: toLoops(loopDetection) } : {}),
  };
}

function toLoops({ cycles, threshold, action }: LoopDetector): NonNullable<RunStart["loops"]> {
  return { repetition: cycles, rule: { threshold, action } };
}

function compare(recorded: RunPrint, now: RunPrint): void {
  for (const field of ["version", "runId", "messagesDigest"] as const) {
    const isUnnamed = field === "runId" && (recorded.runId === undefined || now.runId === undefined);
    if (isUnnamed || recorded[field] === now[field]) continue;
    throw new LoopError("journal-mismatch", { field, expected: String(now[field]), received: String(recorded[field]) });
  }
}
