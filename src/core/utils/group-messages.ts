// Messages of one role that follow each other, for services that want the roles to alternate.

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
