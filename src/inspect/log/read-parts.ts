// Reads the parts of runs from log lines. Throws a TypeError for an invalid field. The caller adds the line number, as in "Line 7 has an
// invalid index".

import { isRecord, listOf } from "../../core/kit.ts";
import type { Json, Message } from "../../core/index.ts";
import { toUsage } from "../../shared/plain-error.ts";
import type { LogLine } from "./parse-line.ts";
import { isList } from "./shared-reader.ts";
import type { LoggedCall, LoggedIteration, LoggedOutput, LoggedRequest, LoggedWait } from "../../shared/run-log.ts";

export function toRequest(earlier: readonly LoggedRequest[], line: LogLine): LoggedRequest {
  const keptCount = requireCount(line, "keep");
  const replaced = listOf(line["replace"]) as unknown as LoggedRequest["replaced"];
  // Checks the index, because "length" or 4294967290 would change the list itself or make it huge.
  if (!replaced.every((pair) => isList(pair) && isIndex(pair[0], keptCount)))
    throw new TypeError('has an invalid index in "replace"');
  const added = listOf(line["add"]) as unknown as LoggedRequest["added"];
  if (keptCount > (earlier.at(-1)?.messageCount ?? 0)) throw new TypeError("keeps more messages than the previous request has");
  const { system, output, tools = [], toolChoice, settings, provider, model } = line as unknown as Partial<LoggedRequest>;
  const before = earlier.length;
  const request: LoggedRequest = {
    at: line.at,
    provider: provider ?? "",
    model: model ?? "",
    system,
    output,
    tools,
    toolChoice,
    settings,
    messageCount: keptCount + added.length,
    keptCount,
    replaced,
    added,
    messages: () => joinRequests([...earlier.slice(0, before), request]),
  };
  return request;
}

function isIndex(value: unknown, count: number): boolean {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value < count;
}

function joinRequests(requests: readonly LoggedRequest[]): readonly Message[] {
  const messages: Message[] = [];
  for (const { keptCount, replaced, added } of requests) {
    messages.length = keptCount;
    for (const [index, message] of replaced) messages[index] = message;
    for (const message of added) messages.push(message);
  }
  return messages;
}

export const noOutput: LoggedOutput = { at: 0, text: "", reasoning: "", details: "", providerMetadata: [] };

export interface JoinedOutput extends LoggedOutput {
  readonly providerMetadata: Json[];
}

/** Joins a line with the earlier output of its stream. Extends the list in `before`, because copying would take quadratic time. */
export function joinOutputs(before: JoinedOutput | undefined, line: LogLine): JoinedOutput {
  const { providerMetadata: items, ...known } = before ?? { ...noOutput, providerMetadata: [] };
  const { text = "", reasoning = "", details = "", providerMetadata = [], ...rest } = line as unknown as Partial<LoggedOutput>;
  for (const item of providerMetadata) items.push(item);
  return {
    at: line.at,
    text: known.text + text,
    reasoning: known.reasoning + reasoning,
    details: known.details + details,
    finish: rest.finish ?? known.finish,
    rawFinish: rest.rawFinish ?? known.rawFinish,
    error: rest.error ?? known.error,
    providerMetadata: items,
    thoughtLog: rest.thoughtLog ?? known.thoughtLog,
  };
}

type Spending = Pick<LoggedIteration, "usage" | "costUSD" | "durationMs">;

/** Reads the numbers at the end of a stream or a run. In an edited log, these fields may have any values. */
export function spendingOf(line: LogLine): Spending {
  const { usage } = line;
  return {
    usage: isRecord(usage) ? toUsage(usage) : undefined,
    costUSD: numberOrNone(line["costUSD"]),
    durationMs: numberOrNone(line["durationMs"]),
  };
}

export function numberOrNone(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

export function requireCount(line: LogLine, field: string): number {
  const value = line[field];
  return typeof value === "number" && Number.isInteger(value) && value >= 0 ? value : failWith(`has no valid "${field}"`);
}

export function requireText(line: LogLine, field: string): string {
  const value = line[field];
  return typeof value === "string" ? value : failWith(`has no valid "${field}"`);
}

export function failWith(problem: string): never {
  throw new TypeError(problem);
}

export interface CallTimes {
  askedAt?: number | undefined;
  decidedAt?: number | undefined;
  deferredAt?: number | undefined;
  resumedAt?: number | undefined;
}

/** Returns an iteration's waits, in the order in which they began. Omits waits without a duration. */
export function findWaits(iteration: LoggedIteration, timesOf: (call: LoggedCall) => CallTimes): readonly LoggedWait[] {
  const waits = iteration.attempts.flatMap(({ discardedAt, error }, index): LoggedWait[] => {
    if (discardedAt === undefined) return [];
    const kind = error?.code === "rate-limit" ? "rate-limit" : "retry";
    return [{ kind, from: discardedAt, to: iteration.attempts[index + 1]?.startedAt }];
  });
  const ofCalls = iteration.calls.flatMap((call) => waitsOf(call, { times: timesOf(call), outputAt: iteration.output?.at }));
  return [...waits, ...ofCalls].filter(({ from, to }) => from !== to).sort((one, other) => one.from - other.from);
}

interface Around {
  readonly times: CallTimes;
  readonly outputAt: number | undefined;
}

function waitsOf({ callId, readyAt, startedAt }: LoggedCall, { times, outputAt }: Around): readonly LoggedWait[] {
  const { askedAt, decidedAt, deferredAt, resumedAt } = times;
  const waits: LoggedWait[] = [];
  if (askedAt !== undefined) waits.push({ kind: "approval", from: askedAt, to: decidedAt, callId });
  if (deferredAt !== undefined) waits.push({ kind: "outside-result", from: deferredAt, to: resumedAt, callId });
  const from = Math.max(readyAt ?? 0, outputAt ?? 0, decidedAt ?? 0);
  const isQueued = deferredAt === undefined && from > 0 && startedAt !== undefined && startedAt > from;
  if (isQueued) waits.push({ kind: "queue", from, to: startedAt, callId });
  return waits;
}
