// Messages and settings as services take them.

import type { ModelSettings } from "../types/provider.ts";

/**
 * Groups neighbours of one role. Join each group once: joining message by message copies all that was joined before, which takes
 * quadratic time.
 */
export function groupByRole<Item extends { readonly role: string }>(items: Iterable<Item>): readonly RoleGroup<Item>[] {
  const groups: [Item, ...Item[]][] = [];
  for (const item of items) {
    const group = groups[groups.length - 1];
    if (group?.[0].role === item.role) group.push(item);
    else groups.push([item]);
  }
  return groups;
}

/** One item or more of one role. */
export type RoleGroup<Item> = readonly [Item, ...Item[]];

/** Returns the settings that are set, without `extra`, under the names that they have here. An empty list of stop sequences is left out. */
export function toSettingFields({ maxOutputTokens, temperature, topP, stopSequences, seed }: ModelSettings): object {
  return {
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(topP === undefined ? {} : { topP }),
    ...(stopSequences === undefined || stopSequences.length === 0 ? {} : { stopSequences }),
    ...(seed === undefined ? {} : { seed }),
  };
}
