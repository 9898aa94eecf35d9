// Checks records that were read from a file, or from saved JSON: they may have been edited, or changed by a `redact` function. Checks
// only the fields that the loop needs.

import { LoopError } from "../errors/loop-error.ts";
import { isText } from "../errors/check-fields.ts";
import { findMisfit, problemOf } from "../loop/state/check-answer.ts";
import { isRecord, type UnknownRecord } from "../utils/guards.ts";
import { describeValue } from "../utils/texts.ts";
import { recordVersion } from "./journals.ts";

type Check = (record: UnknownRecord) => string | undefined;

const isTexts = (value: unknown): boolean => Array.isArray(value) && value.every(isText);
const isInbox = (value: unknown): boolean =>
  value === undefined ||
  (Array.isArray(value) && value.every((one) => isRecord(one) && isText(one["verb"]) && isRecord(one["message"])));

function invalid(record: UnknownRecord, name: string): string {
  return `has an invalid "${name}": ${describeValue(record[name])}`;
}

const checkRun: Check = (record) => {
  // The run refuses another version with "journal-mismatch".
  if (record["version"] !== recordVersion) return undefined;
  if (!isTexts(record["middleware"])) return invalid(record, "middleware");
  return findMisfit(record, { messages: "array", messagesDigest: "text", runId: "text?", tools: "tools" });
};

const checkLook: Check = (record) => (isInbox(record["messages"]) ? problemOf(record, "inbox") : invalid(record, "messages"));

/** The checks of the records of the loop, by the end of their keys. */
const checks: readonly (readonly [RegExp, Check])[] = [
  [/^run$/, checkRun],
  [/^(?:begin|i\d+(?:~\d+)?\/(?:answered|next|again))(?:#\d+)?$/, checkLook],
  [/^i\d+(?:~\d+)?\/request(?:~\d+)?\/model(?:~\d+)?$/, (record) => problemOf(record, "model") ?? checkEnds(record)],
  [/^i\d+(?:~\d+)?\/call\/\d+\/[^/]+\/begun(?:~\d+)?$/, (record) => checkBegun(record)],
  [/^i\d+(?:~\d+)?\/call\/\d+\/[^/]+\/outcome(?:~\d+)?$/, (record) => checkOutcome(record)],
  [/^i\d+(?:~\d+)?\/request(?:~\d+)?\/ended$/, (record) => findMisfit(record, { changes: "object", spent: "spent?" })],
  [/^i\d+(?:~\d+)?\/call\/\d+\/[^/]+\/ended$/, (record) => checkOutcome(record) ?? findMisfit(record, { spent: "spent?" })],
  [/^i\d+(?:~\d+)?\/end(?:~\d+)?(?:#\d+)?\/ended(?:~\d+)?$/, (record) => findMisfit(record, askedEnd) ?? checkAgain(record)],
  [/^wait\/.+\/asked$/, (record) => findMisfit(record, { what: "text" })],
  [/^wait\/.+\/answer$/, (record) => (record["value"] === undefined ? invalid(record, "value") : undefined)],
];

const askedEnd = { phase: "text", planned: "ending", ending: "ending", spent: "spent?" } as const;

function checkAgain(record: UnknownRecord): string | undefined {
  const { again = [] } = record;
  return Array.isArray(again) && again.every(isRecord) ? undefined : invalid(record, "again");
}

function checkEnds(record: UnknownRecord): string | undefined {
  return findMisfit(record, { ends: "ending?" });
}

function checkOutcome(record: UnknownRecord): string | undefined {
  return problemOf(record, "tool") ?? findMisfit(record, { textForModel: "text?" }) ?? checkEnds(record);
}

function checkBegun(record: UnknownRecord): string | undefined {
  const { refused } = record;
  return (
    findMisfit(record, { token: "text" }) ?? (refused === undefined ? undefined : findMisfit(record, { refused: "outcome" }))
  );
}

/** A step of middleware or of a tool: its value, its error, or that it was cancelled. */
function checkStep(record: UnknownRecord): string | undefined {
  return findMisfit(record, { ...(record["failed"] !== undefined && { failed: "error" }), cancelled: "ending?" });
}

function isStep(record: UnknownRecord): boolean {
  return Object.keys(record).every((name) => name === "value" || name === "failed" || name === "cancelled");
}

/** Throws LoopError "journal-damaged" if a record lacks what the loop needs. */
export function checkStepRecord(key: string, record: unknown): void {
  const problem = isRecord(record) ? findProblem(key, record) : `must be an object, but is ${describeValue(record)}`;
  if (problem !== undefined) throw new LoopError("journal-damaged", { key, problem });
}

/**
 * Throws LoopError "journal-damaged" if one of these records lacks what the loop needs. Skips the records of `withBlobs`, which
 * checks them itself after it has read their blobs.
 */
export function checkStepRecords(records: ReadonlyMap<string, unknown>): void {
  if (!isPacked(records)) for (const [key, record] of records) checkStepRecord(key, record);
}

/** True if the records were written with `withBlobs`. A run that reads them in another way refuses the first of them. */
export function isPacked(records: ReadonlyMap<string, unknown>): boolean {
  const first = records.get("run");
  return isRecord(first) && first["version"] === undefined && isRecord(first["value"]);
}

function findProblem(key: string, record: UnknownRecord): string | undefined {
  const own = checks.find(([end]) => end.test(key));
  if (own !== undefined) return own[1](record);
  // A key in a nested run, or of a step whose name looks like one.
  const nested = isStep(record) ? undefined : checks.find(([end]) => suffixesOf(key).some((suffix) => end.test(suffix)));
  return nested === undefined ? checkStep(record) : nested[1](record);
}

function suffixesOf(key: string): readonly string[] {
  const places = [...key.matchAll(/\//g)].map(({ index }) => index + 1);
  return places.map((place) => key.slice(place));
}
