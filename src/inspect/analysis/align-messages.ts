import { diffArrays } from "diff";
import type { Message } from "../../core/index.ts";
import { hasOtherKeyOrder, isSameText } from "./json-parts.ts";
import { isSummary, type MaskedCalls } from "./request-messages.ts";

/**
 * A difference between a request and the next one, or a series of messages that are the same in both. `index` is a position in the first
 * request, and `nextIndex` is one in the next request. A list of changes follows the order of the messages, and covers all messages of both
 * requests.
 *
 * - "kept": `count` messages are the same.
 * - "masked": the masking policy has cleared tool results in the message.
 * - "edited": the message's content is different. "keys-reordered": only the order of the keys is different.
 * - "compacted": several messages were replaced by fewer, such as a summary and the messages before it.
 */
export type MessageChange =
  | { readonly kind: "kept"; readonly index: number; readonly nextIndex: number; readonly count: number }
  | { readonly kind: "added"; readonly index: number; readonly nextIndex: number; readonly after: readonly Message[] }
  | { readonly kind: "removed"; readonly index: number; readonly nextIndex: number; readonly before: readonly Message[] }
  | ({ readonly kind: "compacted" | "masked" | "edited" | "keys-reordered" } & ReplacedMessages);

interface ReplacedMessages {
  readonly index: number;
  readonly nextIndex: number;
  readonly before: readonly Message[];
  readonly after: readonly Message[];
}

const maxEdits = 1_000;

/**
 * Returns the changes that turn one request's messages into the next one's. `masked` contains the ids of the calls whose results were
 * cleared.
 */
export function alignMessages(
  before: readonly Message[],
  after: readonly Message[],
  masked: MaskedCalls,
): readonly MessageChange[] {
  const changes: MessageChange[] = [];
  let [index, nextIndex] = [0, 0];
  const keep = (count: number): void => {
    const last = changes.at(-1);
    if (count === 0) return;
    if (last?.kind === "kept") changes[changes.length - 1] = { ...last, count: last.count + count };
    else changes.push({ kind: "kept", index, nextIndex, count });
    [index, nextIndex] = [index + count, nextIndex + count];
  };
  for (const { same, removed, added } of splitLists(before, after)) {
    keep(same);
    const gap = {
      index,
      nextIndex,
      before: before.slice(index, index + removed),
      after: after.slice(nextIndex, nextIndex + added),
    };
    changes.push(...explainGap(gap, masked));
    [index, nextIndex] = [index + removed, nextIndex + added];
  }
  return changes;
}

interface Section {
  readonly same: number;
  readonly removed: number;
  readonly added: number;
}

function splitLists(before: readonly Message[], after: readonly Message[]): readonly Section[] {
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && isSameText(before[start], after[start])) start += 1;
  const [left, right] = [before.slice(start), after.slice(start)];
  if (left.length === 0) return [{ same: start, removed: 0, added: right.length }];
  const rest = replaceBySummary(left, right) ?? pairByPosition(left, right) ?? findCommon(left, right);
  return [{ same: start, removed: 0, added: 0 }, ...rest];
}

/**
 * If `right` has a summary, splits each list into old and recent messages. The recent messages are those after the summary in `right`, and
 * are the same in both lists.
 */
function replaceBySummary(left: readonly Message[], right: readonly Message[]): readonly Section[] | undefined {
  const added = right.findIndex(isSummary) + 1;
  if (added === 0) return undefined;
  const next = left.findIndex((message) => isSameText(message, right[added]));
  const removed = next < 0 ? left.length : next;
  return [{ same: 0, removed, added }, ...splitLists(left.slice(removed), right.slice(added))];
}

/**
 * Pairs the messages at equal positions if each pair has the same role and call ids, because masking changes neither roles nor
 * call ids.
 */
function pairByPosition(left: readonly Message[], right: readonly Message[]): readonly Section[] | undefined {
  if (left.length > right.length || !left.every((message, at) => slotOf(message) === slotOf(right[at]))) return undefined;
  const pairs = left.map((message, at): Section =>
    isSameText(message, right[at]) ? sameSection : { same: 0, removed: 1, added: 1 },
  );
  return [...pairs, { same: 0, removed: 0, added: right.length - left.length }];
}

const sameSection: Section = { same: 1, removed: 0, added: 0 };

function findCommon(left: readonly Message[], right: readonly Message[]): readonly Section[] {
  const changes = diffArrays([...left], [...right], { comparator: isSameText, maxEditLength: maxEdits });
  if (changes === undefined) return [{ same: 0, removed: left.length, added: right.length }];
  const sections: { same: number; removed: number; added: number }[] = [];
  let open = { same: 0, removed: 0, added: 0 };
  for (const { added, removed, count } of changes) {
    if (!added && !removed && open.removed + open.added > 0) {
      sections.push(open);
      open = { same: 0, removed: 0, added: 0 };
    }
    open[added ? "added" : removed ? "removed" : "same"] += count;
  }
  return [...sections, open];
}

/** Returns a message's role and call ids, which stay the same when its results are masked. */
export function slotOf(message: Message | undefined): string {
  if (message?.role === "tool") return `tool ${message.results.map(({ callId }) => callId).join(" ")}`;
  if (message?.role !== "assistant") return String(message?.role);
  return `assistant ${message.content.map((part) => (part.type === "tool-call" ? part.callId : part.type)).join(" ")}`;
}

function explainGap(gap: ReplacedMessages, masked: MaskedCalls): readonly MessageChange[] {
  const { index, nextIndex, before, after } = gap;
  if (before.length + after.length === 0) return [];
  if (before.length === 0) return [{ kind: "added", index, nextIndex, after }];
  if (after.length === 0) return [{ kind: "removed", index, nextIndex, before }];
  if (before.length > after.length || isSummary(after.at(-1))) return [{ kind: "compacted", ...gap }];
  const changes = before.map((message, at): MessageChange => {
    const next = after.slice(at, at + 1);
    const kind = next[0] === undefined ? "edited" : explainPair(message, next[0], masked);
    return { kind, index: index + at, nextIndex: nextIndex + at, before: [message], after: next };
  });
  const more = after.slice(before.length);
  if (more.length === 0) return changes;
  return [...changes, { kind: "added", index: index + before.length, nextIndex: nextIndex + before.length, after: more }];
}

function explainPair(before: Message, after: Message, masked: MaskedCalls): "masked" | "edited" | "keys-reordered" {
  if (hasOtherKeyOrder(before, after)) return "keys-reordered";
  if (before.role !== "tool" || after.role !== "tool") return "edited";
  const isMasked = after.results.every((part, at) => isSameText(part, before.results[at]) || masked.has(part.callId));
  return isMasked && before.results.length === after.results.length ? "masked" : "edited";
}

/** Returns how many messages each kind of change affects. A message that was replaced counts once. */
export function countChanges(changes: readonly MessageChange[]): ReadonlyMap<Exclude<MessageChange["kind"], "kept">, number> {
  const counts = new Map<Exclude<MessageChange["kind"], "kept">, number>();
  for (const change of changes) {
    if (change.kind === "kept") continue;
    const count = change.kind === "added" ? change.after.length : change.before.length;
    counts.set(change.kind, (counts.get(change.kind) ?? 0) + count);
  }
  return counts;
}
