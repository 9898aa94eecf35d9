// Messages and settings in the form of services.

import type { ModelSettings } from "../types/provider.ts";

/** Groups neighbouring items of the same role. Join each group once: joining message by message takes quadratic time. */
export function groupByRole<Item extends { readonly role: string }>(items: Iterable<Item>): readonly RoleGroup<Item>[] {
  const groups: [Item, ...Item[]][] = [];
  for (const item of items) {
    const group = groups[groups.length - 1];
    if (group?.[0].role === item.role) group.push(item);
    else groups.push([item]);
  }
  return groups;
}

/** One or more items of the same role. */
export type RoleGroup<Item> = readonly [Item, ...Item[]];

/** Returns the defined settings, without `extra`, under their names here. An empty list of stop sequences is omitted. */
export function toSettingFields({ maxOutputTokens, temperature, topP, stopSequences, seed }: ModelSettings): object {
  return {
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(topP === undefined ? {} : { topP }),
    ...(stopSequences === undefined || stopSequences.length === 0 ? {} : { stopSequences }),
    ...(seed === undefined ? {} : { seed }),
  };
}
