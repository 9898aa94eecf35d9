import { findRecent, type Json, type UnknownRecord } from "../core/provider-kit.ts";
import { createCallDraft, isCallType, isSameCall, type CallDraft } from "./responses-calls.ts";
import { createItemTexts, type ItemTexts, type TextFlow } from "./responses-texts.ts";

export interface OpenItem {
  readonly type: string;
  /** The position of the item in the response, or the order of arrival if the server reports no position. */
  readonly position: number;
  readonly texts: ItemTexts;
  readonly call: CallDraft | undefined;
  /** True if the server has sent `output_item.added` for the item. Some servers send fragments of the item before that event. */
  begun: boolean;
  isRepeated: boolean;
  fields: { readonly [field: string]: Json } | undefined;
}

export interface ItemAddress {
  readonly id: unknown;
  readonly index: unknown;
  readonly type: string;
  readonly callId?: unknown;
}

type TakeItem = (address: ItemAddress, fields: UnknownRecord) => OpenItem | undefined;

export interface ItemIndex {
  readonly all: readonly OpenItem[];
  create(address: ItemAddress): OpenItem;
  /** Finds an item by its id. Otherwise finds an item by its index or type, if `isFree` accepts the item. */
  find(address: ItemAddress, isFree: (item: OpenItem) => boolean): OpenItem | undefined;
  identify(item: OpenItem, id: unknown): void;
  takeFrom(): TakeItem;
}

/**
 * Finds the item of an event, even if ids and positions are unreliable:
 *
 * 1. The item with the event's `item_id`, if it has the right type, and the event's `output_index` or an index that no item of this
 *    type has.
 * 2. The latest item at the event's `output_index`, even if another item has the `item_id`
 *    (opencode#45013). GitHub Copilot changes the id of an item in each event
 *    (github.com/vercel/ai/pull/18548).
 * 3. The latest item of the right type, if the event has no index or the item at the index has another type.
 */
export function createItemIndex(flow: TextFlow): ItemIndex {
  const all: OpenItem[] = [];
  const byId = new Map<unknown, OpenItem>();
  const byIndex = new Map<unknown, OpenItem[]>();
  const pending = new Map<string, OpenItem[]>();

  function findById(address: ItemAddress): OpenItem | undefined {
    const known = byId.get(address.id);
    return known !== undefined && fits(known, address) ? known : undefined;
  }

  function identify(item: OpenItem, id: unknown): void {
    if (typeof id === "string" && id !== "") byId.set(id, item);
  }

  return {
    all,
    identify,
    create({ type, id, index }) {
      const call = isCallType(type) ? createCallDraft(`item-${all.length}`, type) : undefined;
      const position = typeof index === "number" ? index : all.length;
      const item: OpenItem = {
        type,
        position,
        texts: createItemTexts(flow),
        call,
        begun: false,
        isRepeated: false,
        fields: undefined,
      };
      all.push(item);
      pushTo(pending, type, item);
      identify(item, id);
      if (typeof index === "number") pushTo(byIndex, index, item);
      return item;
    },
    find(address, isFree) {
      const known = findById(address);
      const placed = byIndex.get(address.index) ?? [];
      const here = placed.filter((item) => fits(item, address));
      if (known !== undefined && (here.length === 0 || here.includes(known))) return known;
      if (here.length > 0) return here.findLast(isFree) ?? known;
      if (placed.length === 0 && typeof address.index === "number") return undefined;
      const others = pending.get(address.type) ?? [];
      while (others[others.length - 1]?.fields !== undefined) others.pop();
      return findRecent(others, farthest, (item) => fits(item, address) && isFree(item));
    },
    takeFrom: () => createQueues(all, findById),
  };
}

function pushTo<Key>(lists: Map<Key, OpenItem[]>, key: Key, item: OpenItem): void {
  const items = lists.get(key);
  if (items === undefined) lists.set(key, [item]);
  else items.push(item);
}

function fits({ type, call }: OpenItem, address: ItemAddress): boolean {
  if (type !== address.type) return false;
  return call?.id === undefined || typeof address.callId !== "string" || call.id === address.callId;
}

/** A lookup by type checks at most this many items. No server has more unfinished items of one type at the same time. */
const farthest = 64;

/**
 * Finds the item for each entry of the item list in the final event: the item with the same id, otherwise the item with the same
 * call id, otherwise the oldest item of the same type that has no entry yet. Some servers put new ids into the list. A call
 * therefore matches an entry with another call id if the name and the arguments are the same.
 */
function createQueues(items: readonly OpenItem[], findKnown: (address: ItemAddress) => OpenItem | undefined): TakeItem {
  const byCallId = new Map<unknown, OpenItem>();
  const byType = new Map<string, OpenItem[]>();
  const taken = new Set<OpenItem>();
  for (const item of items) {
    if (item.call?.id !== undefined) byCallId.set(item.call.id, item);
    pushTo(byType, item.type, item);
  }
  for (const queue of byType.values()) queue.reverse();

  function next(address: ItemAddress, fields: UnknownRecord): OpenItem | undefined {
    const queue = byType.get(address.type) ?? [];
    while (queue.length > 0) {
      const item = queue[queue.length - 1];
      if (item !== undefined && !taken.has(item)) return fits(item, address) || isRepeated(item, fields) ? item : undefined;
      queue.pop();
    }
    return undefined;
  }

  return (address, fields) => {
    const item = findKnown(address) ?? byCallId.get(address.callId) ?? next(address, fields);
    if (item !== undefined) taken.add(item);
    return item;
  };
}

function isRepeated({ call, fields: finished }: OpenItem, fields: UnknownRecord): boolean {
  return finished !== undefined && call !== undefined && isSameCall(call, fields);
}
