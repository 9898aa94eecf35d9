// Checks journal records before use, because a file, edited JSON or a `redact` function may have damaged them. Checks only the fields that
// the loop needs.

import { LoopError } from "../../shared/errors/loop-error.ts";
import { isText } from "../../shared/errors/check-fields.ts";
import type { CompactedMessages } from "../types/middleware-options.ts";
import { isRecord, type UnknownRecord } from "../../shared/guards.ts";
import { describeValue } from "../../shared/texts.ts";
import { recordVersion } from "./journals.ts";

type Fits = (value: unknown) => boolean;

const isArrayOf =
  (fits: Fits): Fits =>
  (value) =>
    Array.isArray(value) && value.every(fits);

const isCall: Fits = (value) =>
  isRecord(value) && isText(value["callId"]) && isText(value["name"]) && value["args"] !== undefined;
const isPartStart: Fits = (value) =>
  isRecord(value) && ["reasoning", "text", "call"].includes(value["type"] as string) && typeof value["from"] === "number";
const isRequest: Fits = (value) => isRecord(value) && (value["break"] === undefined || isRecord(value["break"]));
const isGuardrailRecord: Fits = (value) =>
  isRecord(value) &&
  isText(value["guardrail"]) &&
  isText(value["verdict"]) &&
  (value["spent"] === undefined || isSpent(value["spent"]));
const isSpent: Fits = (value) => isRecord(value) && isRecord(value["usage"]) && typeof value["usage"]["totalTokens"] === "number";
const isIssue: Fits = (issue) => isRecord(issue) && isText(issue["message"]);
const isReason: Fits = (value) => isRecord(value) && isText(value["kind"]);
const isInboxMessage: Fits = (value) => isRecord(value) && isText(value["verb"]) && isRecord(value["message"]);

/** True for a valid compaction. The indexes in `kept` must increase, because a repeated index would send a message twice. */
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
  number: (value: unknown) => typeof value === "number",
  array: Array.isArray,
  object: isRecord,
  value: (value: unknown) => value !== undefined,
  texts: /* @__PURE__ */ isArrayOf(isText),
  records: /* @__PURE__ */ isArrayOf(isRecord),
  error: isIssue,
  call: isCall,
  calls: /* @__PURE__ */ isArrayOf(isCall),
  reason: isReason,
  ending: (value: unknown) => isRecord(value) && isText(value["status"]) && isReason(value["reason"]),
  usage: (value: unknown) => isRecord(value) && typeof value["totalTokens"] === "number",
  tools: (value: unknown) => isRecord(value) && Object.values(value).every(isRecord),
  basis: (value: unknown) => isRecord(value) && (value["findable"] === undefined || Array.isArray(value["findable"])),
  order: /* @__PURE__ */ isArrayOf(isPartStart),
  cache: (value: unknown) => isRecord(value) && isArrayOf(isRequest)(value["requests"]),
  adjustments: /* @__PURE__ */ isArrayOf((item) => isRecord(item) && isArrayOf(isRecord)(item["changes"])),
  handoff: (value: unknown) => isRecord(value) && isText(value["to"]),
  guardrails: /* @__PURE__ */ isArrayOf(isGuardrailRecord),
  inbox: /* @__PURE__ */ isArrayOf(isInboxMessage),
  spent: isSpent,
  outcome: (value: unknown) => isRecord(value) && findMisfit(value, outcome) === undefined,
} as const;

type Type = keyof typeof fits;
/** The fields of a record. Fields whose type ends with "?" are optional. */
type RecordFields = { readonly [name: string]: Type | `${Type}?` };

const run: RecordFields = { middleware: "texts", messages: "array", messagesDigest: "text", runId: "text?", tools: "tools" };

const look: RecordFields = { messages: "inbox?", now: "number", token: "text", ending: "ending?" };

const answer: RecordFields = {
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
  ends: "ending?",
};

const outcome: RecordFields = {
  kind: "text",
  call: "call",
  durationMs: "number",
  handoff: "handoff?",
  textForModel: "text?",
  ends: "ending?",
  spent: "spent?",
};

/** The additional fields of each kind of outcome. */
const kinds: { readonly [kind: string]: RecordFields } = {
  completed: {},
  failed: { error: "error" },
  "timed-out": { limitMs: "number" },
  blocked: { allowed: "array" },
  denied: {},
  "approval-failed": { error: "error" },
  "unknown-tool": { known: "array" },
  "invalid-input": { issues: "array" },
  malformed: {},
  truncated: {},
  interrupted: {},
  "not-run": {},
  deferred: {},
  limit: {},
};

/** The fields of the loop's records. Each pattern matches the end of a record's key. */
const records: readonly (readonly [RegExp, RecordFields])[] = [
  [/^run$/, run],
  [/^(?:begin|i\d+(?:~\d+)?\/(?:answered(?:~\d+)?|next|again))(?:#\d+)?$/, look],
  [/^i\d+(?:~\d+)?\/request(?:~\d+)?\/model(?:~\d+)?$/, answer],
  [/^i\d+(?:~\d+)?\/request(?:~\d+)?\/ended$/, { changes: "object", spent: "spent?" }],
  [/^i\d+(?:~\d+)?\/call\/\d+\/[^/]+\/begun(?:~\d+)?$/, { token: "text", refused: "outcome?" }],
  [/^i\d+(?:~\d+)?\/call\/\d+\/[^/]+\/outcome(?:~\d+)?$/, outcome],
  [/^i\d+(?:~\d+)?\/call\/\d+\/[^/]+\/ended$/, outcome],
  [
    /^i\d+(?:~\d+)?\/end(?:~\d+)?(?:#\d+)?\/ended(?:~\d+)?$/,
    { phase: "text", planned: "ending", ending: "ending", spent: "spent?", again: "records?" },
  ],
  [/^wait\/.+\/asked$/, { what: "text" }],
  [/^wait\/.+\/answer$/, { value: "value" }],
];

/** The fields of a step's record, for middleware and tools. A step has a value or an error, or was cancelled. */
const step: RecordFields = { failed: "error?", cancelled: "ending?" };

/** Returns the invalid field of a record, or undefined if all fields are valid. */
function findMisfit(record: UnknownRecord, fields: RecordFields): string | undefined {
  // Accepts any record from a different version here, because the run itself refuses it later with "journal-mismatch".
  if (fields === run && record["version"] !== recordVersion) return undefined;
  const { kind } = record;
  const isKnown = fields !== outcome || (typeof kind === "string" && Object.hasOwn(kinds, kind));
  if (!isKnown && isText(kind)) return `has an unknown "kind": ${describeValue(kind)}`;
  const all = fields === outcome && isText(kind) ? { ...fields, ...kinds[kind] } : fields;
  const name = Object.keys(all).find((field) => !fitsType(record[field], all[field] ?? "value"));
  return name === undefined ? undefined : `has an invalid "${name}": ${describeValue(record[name])}`;
}

function fitsType(value: unknown, type: Type | `${Type}?`): boolean {
  if (!type.endsWith("?")) return fits[type as Type](value);
  return value === undefined || fits[type.slice(0, -1) as Type](value);
}

function isStep(record: UnknownRecord): boolean {
  return Object.keys(record).every((name) => name === "value" || name === "failed" || name === "cancelled");
}

/** Throws LoopError "journal-damaged" if a record lacks fields that the loop needs. */
export function checkStepRecord(key: string, record: unknown): void {
  const problem = isRecord(record) ? findProblem(key, record) : `is ${describeValue(record)}, but must be an object`;
  if (problem !== undefined) throw new LoopError("journal-damaged", { key, problem });
}

/**
 * Throws LoopError "journal-damaged" if one of these records lacks fields that the loop needs. Skips the records from `withBlobs`, which
 * checks them itself after it has read their blobs.
 */
export function checkStepRecords(records: ReadonlyMap<string, unknown>): void {
  if (!isPacked(records)) for (const [key, record] of records) checkStepRecord(key, record);
}

/** True if the records were written with `withBlobs`. A run without `withBlobs` refuses the first such record. */
export function isPacked(records: ReadonlyMap<string, unknown>): boolean {
  const first = records.get("run");
  return isRecord(first) && first["version"] === undefined && isRecord(first["value"]);
}

function findProblem(key: string, record: UnknownRecord): string | undefined {
  const own = records.find(([end]) => end.test(key));
  // A nested run's key ends like an outer run's key, so its suffixes are tried too. Steps are excluded, because a step's name may happen to
  // look like one of these keys.
  const found = own ?? (isStep(record) ? undefined : records.find(([end]) => suffixesOf(key).some((suffix) => end.test(suffix))));
  return findMisfit(record, found?.[1] ?? step);
}

function suffixesOf(key: string): readonly string[] {
  const places = [...key.matchAll(/\//g)].map(({ index }) => index + 1);
  return places.map((place) => key.slice(place));
}
