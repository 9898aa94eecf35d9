// The summary of the differences between two requests.

import { formatCount, joinTexts } from "../format.ts";
import type { MessageChange } from "./align-messages.ts";
import type { CacheBreak } from "./find-cache-breaks.ts";
import type { RequestDifference } from "./diff-requests.ts";
import type { ToolsDifference } from "./diff-tools.ts";

/**
 * Returns one line about a difference. `found` is the cache break between the requests, if there is one.
 *
 * @example "3 messages added, 2 masked, tools unchanged, prefix kept 98 %"
 */
export function describeDifference(
  { fields, tools, system, messages }: RequestDifference,
  found: Pick<CacheBreak, "keptChars" | "prefixChars"> = { keptChars: 1, prefixChars: 1 },
): string {
  const changed = fields.map(({ name }) => name.replace("settings.", ""));
  return [
    describeMessages(messages),
    tools === undefined ? "tools unchanged" : describeTools(tools),
    ...(system === undefined ? [] : ["system text changed"]),
    ...(changed.length === 0 ? [] : [`${joinTexts(changed)} changed`]),
    `prefix kept ${Math.floor((100 * found.keptChars) / Math.max(found.prefixChars, 1))} %`,
  ].join(", ");
}

const verbs = {
  added: "added",
  removed: "removed",
  masked: "masked",
  compacted: "compacted",
  edited: "edited",
  "keys-reordered": "with reordered keys",
} as const;

function describeMessages(changes: readonly MessageChange[]): string {
  const counts = new Map<keyof typeof verbs, number>();
  for (const change of changes) {
    if (change.kind === "kept") continue;
    const count = change.kind === "added" ? change.after.length : change.before.length;
    counts.set(change.kind, (counts.get(change.kind) ?? 0) + count);
  }
  if (counts.size === 0) return "messages unchanged";
  const order = (Object.keys(verbs) as (keyof typeof verbs)[]).filter((kind) => counts.has(kind));
  return order
    .map((kind, at) => {
      const count = counts.get(kind) ?? 0;
      const noun = at > 0 ? "" : count === 1 ? " message" : " messages";
      return `${formatCount(count)}${noun} ${verbs[kind]}`;
    })
    .join(", ");
}

function describeTools({ added, removed, changed, isReordered }: ToolsDifference): string {
  const parts = [
    [added.length, "added"],
    [removed.length, "removed"],
    [changed.filter(({ isKeyOrder }) => !isKeyOrder).length, "changed"],
    [changed.filter(({ isKeyOrder }) => isKeyOrder).length, "with reordered keys"],
  ] as const;
  const counted = parts.filter(([count]) => count > 0).map(([count, verb]) => `${count} ${verb}`);
  const texts = isReordered ? [...counted, "reordered"] : counted;
  return `tools: ${joinTexts(texts)}`;
}
