// Reads fields of lines. An invalid field throws a TypeError. Its message comes after the number of the line in the final error.

import { isRecord, type Json, type Message, toUsage } from "../../core/entry-kit.ts";
import type { LogLine } from "./parse-line.ts";
import type { LoggedIteration, LoggedOutput, LoggedRequest } from "./run-log.ts";

export function toRequest(earlier: readonly LoggedRequest[], line: LogLine): LoggedRequest {
  const keptCount = numberOf(line, "keep");
  const replaced = listOf(line["replace"]) as unknown as LoggedRequest["replaced"];
  const added = listOf(line["add"]) as unknown as LoggedRequest["added"];
  if (keptCount > (earlier.at(-1)?.messageCount ?? 0)) throw new TypeError("keeps more messages than the previous request has");
  const { system, tools = [], toolChoice, settings, provider, model } = line as unknown as Partial<LoggedRequest>;
  const before = earlier.length;
  const request: LoggedRequest = {
    at: line.at,
    provider: provider ?? "",
    model: model ?? "",
    system,
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

/** Adds a line with output to the earlier output of the same stream. */
export function joinOutputs(before: LoggedOutput, line: LogLine): LoggedOutput {
  const { text = "", reasoning = "", details = "", providerMetadata = [], ...rest } = line as unknown as Partial<LoggedOutput>;
  return {
    at: line.at,
    text: before.text + text,
    reasoning: before.reasoning + reasoning,
    details: before.details + details,
    finish: rest.finish ?? before.finish,
    rawFinish: rest.rawFinish ?? before.rawFinish,
    error: rest.error ?? before.error,
    providerMetadata: [...before.providerMetadata, ...providerMetadata],
    thoughtLog: rest.thoughtLog ?? before.thoughtLog,
  };
}

type Spending = Pick<LoggedIteration, "usage" | "costUSD" | "durationMs">;

/** Reads the numbers at the end of a stream or a run. In an edited log they may be any values. */
export function spendingOf(line: LogLine): Spending {
  const { usage } = line;
  return {
    usage: isRecord(usage) ? toUsage(usage) : undefined,
    costUSD: numberOrNone(line["costUSD"]),
    durationMs: numberOrNone(line["durationMs"]),
  };
}

export function numberOrNone(value: Json | undefined): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

export function numberOf(line: LogLine, field: string): number {
  const value = line[field];
  return typeof value === "number" && Number.isInteger(value) && value >= 0 ? value : failWith(`has no valid "${field}"`);
}

export function textOf(line: LogLine, field: string): string {
  const value = line[field];
  return typeof value === "string" ? value : failWith(`has no valid "${field}"`);
}

export function listOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? (value as readonly Json[]) : [];
}

export function failWith(problem: string): never {
  throw new TypeError(problem);
}
