// Finds what a stream speaks of: nearly always the latest, and never so far back that a hostile stream could make it costly.

/** The last of the latest `farthest` items that matches. */
export function findRecent<Item>(items: readonly Item[], farthest: number, matches: (item: Item) => boolean): Item | undefined {
  return items.length > farthest ? items.slice(-farthest).findLast(matches) : items.findLast(matches);
}
