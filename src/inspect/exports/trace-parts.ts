// Turns a run into timed parts that contain each other: executions, iterations, streams, attempts, calls, waits and nested runs.

import type { Json } from "../../core/entry-kit.ts";
import { cleanName } from "../../core/observe-kit.ts";
import { executionsOf, stepsOf } from "../analysis/run-totals.ts";
import { waitNames, waitsOf } from "../analysis/waits.ts";
import type { LoggedCall, LoggedCompaction, LoggedIteration, LoggedRun, LoggedWait } from "../log/run-log.ts";

type PartCategory = "run" | "iteration" | "compaction" | "stream" | "attempt" | "tool" | "wait";

export type PartFacts = { readonly [fact: string]: Json | undefined };

/** A part of a run, with its times in milliseconds since 1970. */
export interface TracePart {
  readonly name: string;
  readonly category: PartCategory;
  readonly from: number;
  readonly to: number;
  readonly facts: PartFacts;
  readonly parts: readonly TracePart[];
  readonly marks?: readonly TraceMark[] | undefined;
}

interface TraceMark {
  readonly name: string;
  readonly at: number;
}

interface PartOptions {
  readonly captureContent: boolean;
  /** The last time in the log. Parts without an end are drawn up to this time. */
  readonly lastAt: number;
}

/** Returns a part for each execution of a run. A run that was suspended has several. */
export function toRunParts(run: LoggedRun, options: PartOptions): readonly TracePart[] {
  const { runId, path, provider, model, status, reason, error, usage, costUSD, toolCallsExecuted } = run;
  return executionsOf(run).map(({ from, to: lastAt }, index, executions): TracePart => {
    const next = executions[index + 1]?.from;
    const isLast = next === undefined;
    const to = isLast ? (run.endedAt ?? options.lastAt) : lastAt;
    const begun = stepsOf(run).filter(({ startedAt }) => startedAt >= from && (isLast || startedAt < next));
    const end = isLast
      ? { status, reason: reason?.kind, error: error?.message, usage: usage as Json | undefined, costUSD, toolCallsExecuted }
      : {};
    return {
      name: path.length === 0 ? "run" : "nested run",
      category: "run",
      from,
      to,
      facts: { runId, path: path.length === 0 ? undefined : path, execution: index, provider, model, ...end },
      parts: begun.flatMap((step) => ("calls" in step ? toIterationParts(step, options) : [toCompactionPart(step, options)])),
      marks: toMarks(run, from, next),
    };
  });
}

const marked: ReadonlySet<string> = new Set([
  "notice",
  "restart",
  "handoff",
  "guardrail",
  "loop-detected",
  "masked",
  "cache-break",
  "request-adjusted",
  "steered",
  "late-result",
  "replay-end",
]);

function toMarks({ lines }: LoggedRun, from: number, next = Number.POSITIVE_INFINITY): readonly TraceMark[] {
  return lines.filter(({ type, at }) => marked.has(type) && at >= from && at < next).map(({ type, at }) => ({ name: type, at }));
}

function toCompactionPart(compaction: LoggedCompaction, { lastAt }: PartOptions): TracePart {
  const { iteration, cause, startedAt, endedAt, outcome, usage, error, isReplayed, ...facts } = compaction;
  const { tokensBefore, tokensAfter, provider, model, costUSD } = facts;
  const spent = { provider, model, usage: usage as Json | undefined, costUSD, ...(isReplayed && { replayed: true }) };
  const ending = endedAt === undefined ? { open: true } : { outcome, tokensBefore, tokensAfter, error: error?.message };
  return {
    name: "compaction",
    category: "compaction",
    from: startedAt,
    to: endedAt ?? lastAt,
    facts: { iteration, cause, ...ending, ...spent },
    parts: [],
  };
}

function toIterationParts(iteration: LoggedIteration, options: PartOptions): readonly TracePart[] {
  const { continuation, startedAt, endedAt, status, finish, usage, costUSD, isReplayed } = iteration;
  const place = { iteration: iteration.iteration, ...(continuation > 0 && { continuation }) };
  const to = endedAt ?? options.lastAt;
  const calls = iteration.calls.flatMap((call) => toCallParts(call, { iteration, options }));
  return [
    {
      name:
        continuation > 0 ? `iteration ${iteration.iteration}, continuation ${continuation}` : `iteration ${iteration.iteration}`,
      category: "iteration",
      from: startedAt,
      to,
      facts: { ...place, status, finish, usage: usage as Json | undefined, costUSD, ...(isReplayed && { replayed: true }) },
      parts: [...toStreamParts(iteration, options), ...calls],
    },
  ];
}

function toStreamParts(iteration: LoggedIteration, { captureContent, lastAt }: PartOptions): readonly TracePart[] {
  const { request, firstToken, output, attempts, endedAt } = iteration;
  if (request === undefined) return [];
  const to = output?.at ?? endedAt ?? lastAt;
  const tries = attempts.map(({ attempt, provider, model, startedAt, discardedAt, error }): TracePart => ({
    name: `attempt ${attempt}`,
    category: "attempt",
    from: startedAt,
    to: discardedAt ?? to,
    facts: { attempt, provider, model, error: error?.code, iteration: iteration.iteration },
    parts: [],
  }));
  const facts: PartFacts = {
    provider: iteration.provider ?? request.provider,
    model: iteration.model ?? request.model,
    messages: request.messageCount,
    tools: request.tools.length,
    firstTokenMs: firstToken?.ms,
    iteration: iteration.iteration,
    ...(captureContent && { text: output?.text, reasoning: output?.reasoning }),
  };
  const retries = waitsOf(iteration).map((wait) => toWait(wait, { iteration, lastAt }));
  const marks = firstToken === undefined ? [] : [{ name: "first token", at: firstToken.at }];
  const name = `stream ${request.model}`;
  return [{ name, category: "stream", from: request.at, to, facts, parts: [...tries, ...retries], marks }];
}

interface Inside {
  readonly iteration: LoggedIteration;
  readonly options: PartOptions;
}

function toCallParts(call: LoggedCall, { iteration, options }: Inside): readonly TracePart[] {
  const { callId, name, index, outcome, decision, args, result, startedAt, endedAt } = call;
  const { captureContent, lastAt } = options;
  const place = { iteration: iteration.iteration, callId: cleanName(callId) };
  const waits = waitsOf(iteration, callId).map((wait) => toWait(wait, { iteration, lastAt }));
  // A call that was refused has no start.
  const from = startedAt ?? endedAt;
  if (from === undefined) return waits;
  const content = captureContent ? { args, result } : {};
  const part: TracePart = {
    name: cleanName(name),
    category: "tool",
    from,
    to: endedAt ?? lastAt,
    facts: { ...place, index, outcome, decision, ...(endedAt === undefined && { open: true }), ...content },
    parts: call.runs.flatMap((run) => toRunParts(run, options)),
  };
  return [...waits, part];
}

function toWait(
  { kind, from, to, callId }: LoggedWait,
  { iteration, lastAt }: { readonly iteration: LoggedIteration; readonly lastAt: number },
): TracePart {
  const isOpen = to === undefined;
  const facts = { kind, callId: callId === undefined ? undefined : cleanName(callId), iteration: iteration.iteration, from };
  return {
    name: waitNames[kind],
    category: "wait",
    from,
    to: to ?? lastAt,
    facts: { ...facts, ...(isOpen && { open: true }) },
    parts: [],
  };
}
