// Functions that convert messages and settings to the formats of provider APIs.

import type { ModelSettings } from "../types/provider.ts";

/**
 * Groups consecutive items with the same role. Concatenate the content of each group in one step, because adding one message
 * after another takes quadratic time.
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

/** One or more items with the same role. */
export type RoleGroup<Item> = readonly [Item, ...Item[]];

/** Returns the settings that are defined, with turnwright's names. Omits `extra`, and an empty list of stop sequences. */
export function toSettingFields({ maxOutputTokens, temperature, topP, stopSequences, seed }: ModelSettings): object {
  return {
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(topP === undefined ? {} : { topP }),
    ...(stopSequences === undefined || stopSequences.length === 0 ? {} : { stopSequences }),
    ...(seed === undefined ? {} : { seed }),
  };
}
