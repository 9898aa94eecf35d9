// Checks replayed results from a journal, because a saved journal may have been edited, or changed by a `redact` function. The
// checks cover only the fields that the loop needs.

import { isText } from "../../errors/check-fields.ts";
import { describeValue } from "../../utils/texts.ts";
import type { CompactedMessages } from "../../types/policies.ts";
import { isOutsideResult } from "../../tools/to-outcome.ts";
import { isRecord, type UnknownRecord } from "../../utils/guards.ts";

type Type = keyof typeof fits;
type Fields = { readonly [name: string]: Type };

const isCall = (value: unknown): boolean =>
  isRecord(value) && isText(value["callId"]) && isText(value["name"]) && value["args"] !== undefined;
const isPartStart = (value: unknown): boolean =>
  isRecord(value) && ["reasoning", "text", "call"].includes(value["type"] as string) && typeof value["from"] === "number";
const isRequest = (value: unknown): boolean => isRecord(value) && (value["break"] === undefined || isRecord(value["break"]));
const isGuardrailRecord = (value: unknown): boolean =>
  isRecord(value) &&
  isText(value["guardrail"]) &&
  isText(value["verdict"]) &&
  (value["spent"] === undefined || isSpent(value["spent"]));
const isSpent = (value: unknown): boolean =>
  isRecord(value) && isRecord(value["usage"]) && typeof value["usage"]["totalTokens"] === "number";
const isIssues = (value: unknown): boolean =>
  value === undefined || (Array.isArray(value) && value.every((issue) => isRecord(issue) && isText(issue["message"])));
const isReason = (value: unknown): boolean => isRecord(value) && isText(value["kind"]);
const isEnding = (value: unknown): boolean => isRecord(value) && isText(value["status"]) && isReason(value["reason"]);

/** The indexes in `kept` must increase, because a message whose index occurs twice would be sent twice. */
export function isCompaction(value: unknown): value is CompactedMessages {
  if (!isRecord(value) || !isText(value["summary"]) || !isIndex(value["count"]) || !Array.isArray(value["kept"])) return false;
  const { count } = value;
  let last = -1;
  return value["kept"].every((index: unknown) => {
    const isNext = isIndex(index) && index > last && index < count;
    if (isNext) last = index;
    return isNext;
  });
}

function isIndex(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

const fits = {
  text: isText,
  "text?": (value: unknown) => value === undefined || isText(value),
  number: (value: unknown) => typeof value === "number",
  boolean: (value: unknown) => typeof value === "boolean",
  array: Array.isArray,
  object: isRecord,
  error: (value: unknown) => isRecord(value) && isText(value["message"]),
  call: isCall,
  calls: (value: unknown) => Array.isArray(value) && value.every(isCall),
  "reason?": (value: unknown) => value === undefined || isReason(value),
  ending: isEnding,
  "ending?": (value: unknown) => value === undefined || isEnding(value),
  "usage?": (value: unknown) => value === undefined || (isRecord(value) && typeof value["totalTokens"] === "number"),
  "array?": (value: unknown) => value === undefined || Array.isArray(value),
  tools: (value: unknown) => isRecord(value) && Object.values(value).every(isRecord),
  "basis?": (value: unknown) =>
    value === undefined || (isRecord(value) && (value["findable"] === undefined || Array.isArray(value["findable"]))),
  "order?": (value: unknown) => value === undefined || (Array.isArray(value) && value.every(isPartStart)),
  "cache?": (value: unknown) =>
    value === undefined || (isRecord(value) && Array.isArray(value["requests"]) && value["requests"].every(isRequest)),
  "adjustments?": (value: unknown) =>
    value === undefined ||
    (Array.isArray(value) &&
      value.every((item) => isRecord(item) && Array.isArray(item["changes"]) && item["changes"].every(isRecord))),
  "handoff?": (value: unknown) => value === undefined || (isRecord(value) && isText(value["to"])),
  "guardrails?": (value: unknown) => value === undefined || (Array.isArray(value) && value.every(isGuardrailRecord)),
  decision: isOutsideResult,
  "question?": (value: unknown) =>
    value === undefined || (isRecord(value) && isText(value["text"]) && isRecord(value["schema"]) && isIssues(value["issues"])),
  compaction: isCompaction,
  "compaction?": (value: unknown) => value === undefined || isCompaction(value),
  "spent?": (value: unknown) => value === undefined || isSpent(value),
  outcome: (value: unknown) => isRecord(value) && problemOf(value, "tool") === undefined,
};

const look: Fields = { now: "number", token: "text", ended: "ending?", ending: "ending?", spentOutside: "reason?" };

const stream: Fields = {
  status: "text",
  reason: "reason?",
  usage: "usage?",
  text: "text",
  reasoning: "text",
  details: "text",
  calls: "calls",
  order: "order?",
  basis: "basis?",
  providerMetadata: "array",
  provider: "text",
  model: "text",
  visibleTools: "array",
  cache: "cache?",
  adjustments: "adjustments?",
  guardrails: "guardrails?",
  discardedIds: "array?",
};

/** The required fields of a step's result, by the name of the step in its key. */
const steps: { readonly [word: string]: Fields } = {
  run: { tools: "tools", messages: "array", agent: "text?", compaction: "compaction?" },
  retry: { reopen: "boolean", before: "text", now: "number", token: "text" },
  inbox: look,
  "inbox-end": look,
  model: stream,
  "final-answer": stream,
  "input-check": { kind: "text", records: "guardrails?" },
  compaction: { kind: "text", tokensBefore: "number", tokensAfter: "number" },
  output: { kind: "text" },
  iteration: { kind: "text" },
  validation: { kind: "text" },
  approval: { kind: "text" },
  intent: { token: "text" },
  agent: { kind: "text" },
  result: { kind: "text" },
  tool: { kind: "text", call: "call", durationMs: "number", handoff: "handoff?" },
};

/** More required fields, by the `kind` of a result. A kind has the same fields in all steps. */
const kinds: { readonly [kind: string]: Fields } = {
  failed: { error: "error" },
  compacted: { compaction: "compaction" },
  "approval-failed": { error: "error" },
  "timed-out": { limitMs: "number" },
  blocked: { allowed: "array" },
  "unknown-tool": { known: "array" },
  "invalid-input": { issues: "array" },
  invalid: { issues: "array" },
  ended: { ending: "ending" },
  refused: { outcome: "outcome" },
  over: { outcome: "outcome" },
  "must-ask": { mustAsk: "text" },
  ask: { token: "text", tool: "object" },
  wait: { token: "text" },
  given: { decision: "decision" },
  deferred: { question: "question?" },
};

const plainKinds =
  "completed denied malformed truncated interrupted not-run limit continue abort valid checked approve modify deny cancelled fits cut begun";

export function problemOf(answer: UnknownRecord, word: string): string | undefined {
  const fields = Object.hasOwn(steps, word) ? steps[word] : undefined;
  const { kind } = answer;
  if (fields?.["kind"] === undefined || typeof kind !== "string") return misfit(answer, fields);
  if (plainKinds.split(" ").includes(kind)) return misfit(answer, fields);
  if (!Object.hasOwn(kinds, kind)) return `has an unknown "kind": ${describeValue(kind)}`;
  return misfit(answer, fields) ?? misfit(answer, kinds[kind]);
}

function misfit(answer: UnknownRecord, fields: Fields = {}): string | undefined {
  const name = Object.keys(fields).find((field) => !fits[fields[field] as Type](answer[field]));
  return name === undefined ? undefined : `has an invalid "${name}": ${describeValue(answer[name])}`;
}

type PlainFields = {
  readonly [name: string]:
    | "text"
    | "text?"
    | "array"
    | "object"
    | "error"
    | "ending"
    | "ending?"
    | "outcome"
    | "spent?"
    | "tools";
};

/** Says which field of a record does not fit. */
export function findMisfit(record: UnknownRecord, fields: PlainFields): string | undefined {
  return misfit(record, fields);
}
