import type { CompactionAnswer, Json, Message, PlainError } from "../../core/entry-kit.ts";
import { slotOf } from "../analysis/align-messages.ts";
import { isSameText } from "../analysis/json-parts.ts";
import { isSummary } from "../analysis/request-messages.ts";
import type { LoggedCompaction, LoggedRequest, LoggedRun } from "../log/run-log.ts";
import { type PastCompaction, refuseRerun, withoutContext } from "./past.ts";

export interface NumberedRequest {
  readonly iteration: number;
  readonly request: LoggedRequest;
}

interface RequestReading {
  readonly requests: readonly NumberedRequest[];
  readonly contextItems: readonly Json[];
  readonly from: number;
}

interface PastMessages {
  /** All messages before the iteration `from`, without summaries. */
  readonly transcript: readonly Message[];
  readonly compactions: ReadonlyMap<number, PastCompaction>;
}

/** Reads the transcript from the first request that runs again, and from the requests around each compaction. */
export function readMessages(run: LoggedRun, { requests, contextItems, from }: RequestReading): PastMessages {
  const compactions = new Map<number, PastCompaction>();
  const messagesAt = (index: number): readonly Message[] =>
    withoutContext(requests[index]?.request.messages() ?? [], contextItems);
  let count = 0;
  let transcript: readonly Message[] = [];
  const readTo = (index: number): void => {
    const messages = messagesAt(index);
    const summary = count === 0 ? -1 : messages.findIndex(isSummary);
    transcript = summary === -1 ? messages : [...transcript.slice(0, count), ...messages.slice(summary + 1)];
  };
  const found = requests.findIndex(({ iteration }) => iteration >= from);
  const last = found === -1 ? requests.length - 1 : found;
  for (const compaction of run.compactions) {
    const next = requests.findIndex(({ iteration }) => iteration >= compaction.iteration);
    if (next === -1 || next > last || compaction.endedAt === undefined) continue;
    // The messages before a summary in the first request are in no request, so the rerun begins with this summary.
    if (next === 0) continue;
    readTo(next - 1);
    const made = compaction.outcome === "compacted" ? findReplaced(transcript, messagesAt(next)) : failed;
    if (made === undefined) throw refuseRerun(from, `its log does not have the summary before iteration ${compaction.iteration}`);
    count = made.count ?? count;
    if (compaction.iteration < from) compactions.set(compaction.iteration, toPastCompaction(compaction, made));
  }
  readTo(last);
  return { transcript, compactions };
}

const failed: { readonly count?: undefined } = {};

type Compacted = Extract<CompactionAnswer, { kind: "compacted" }>["compaction"];

/** Finds the messages that a summary replaced. The messages after the summary are the last ones of the transcript. */
function findReplaced(transcript: readonly Message[], messages: readonly Message[]): Compacted | undefined {
  const at = messages.findIndex(isSummary);
  const message = messages[at];
  if (message?.role !== "user" || typeof message.content !== "string") return undefined;
  const rest = messages.slice(at + 1);
  const isCut = (count: number): boolean => {
    const left = transcript.slice(count);
    return left.length <= rest.length && left.every((one, index) => isSame(one, rest[index]));
  };
  const first = Math.max(1, transcript.length - rest.length);
  const count =
    Array.from({ length: transcript.length + 1 - first }, (_, index) => first + index).find(isCut) ?? transcript.length;
  let next = 0;
  const kept = messages.slice(0, at).map((one) => {
    const index = transcript.findIndex((other, place) => place >= next && isSameText(one, other));
    next = index + 1;
    return index;
  });
  const summary = message.content.slice(message.content.indexOf("\n") + 1);
  return kept.every((index) => index >= 0 && index < count) ? { summary, count, kept } : undefined;
}

/** Compares tool messages only by their calls, because masking may have cleared results in one of them. */
function isSame(one: Message, other: Message | undefined): boolean {
  return one.role === "tool" ? slotOf(one) === slotOf(other) : isSameText(one, other);
}

function toPastCompaction(compaction: LoggedCompaction, made: Compacted | typeof failed): PastCompaction {
  const { cause = "due", tokensBefore = 0, tokensAfter = 0, error = unknownError } = compaction;
  const base = { tokensBefore, tokensAfter, ...spendingOfSummary(compaction) };
  if (made.count !== undefined) return { cause, answer: { ...base, kind: "compacted", compaction: made } };
  return { cause, answer: { ...base, kind: "failed", error } };
}

const unknownError: PlainError = { name: "Error", message: "The log does not contain the error of this compaction." };

function spendingOfSummary({ provider, model = "", usage, costUSD }: LoggedCompaction): Pick<CompactionAnswer, "spending"> {
  return provider === undefined ? {} : { spending: { provider, model, usage, costUSD } };
}
