// Finds the item that an event belongs to, even if positions and ids are unreliable.

import { findRecent, type Json, type UnknownRecord } from "../core/provider-kit.ts";
import { createCallDraft, isCallType, isSameCall, type CallDraft } from "./responses-calls.ts";
import { createItemTexts, type ItemTexts, type TextFlow } from "./responses-texts.ts";

/** An item, as far as it has arrived. */
export interface OpenItem {
  readonly type: string;
  /** Its position in the response, or in the stream if the server reports none. */
  readonly position: number;
  readonly texts: ItemTexts;
  readonly call: CallDraft | undefined;
  /** True if the server has sent the start of the item, not only fragments of it. */
  begun: boolean;
  /** True if it repeats another item. */
  isRepeated: boolean;
  /** The finished item. */
  fields: { readonly [field: string]: Json } | undefined;
}

/** The facts of an event that identify its item. */
export interface ItemAddress {
  readonly id: unknown;
  readonly index: unknown;
  readonly type: string;
  readonly callId?: unknown;
}

/** Returns the known item for an entry of a list. */
type TakeItem = (address: ItemAddress, fields: UnknownRecord) => OpenItem | undefined;

/** The items of one stream. */
export interface ItemIndex {
  /** In the order in which they came. */
  readonly all: readonly OpenItem[];
  create(address: ItemAddress): OpenItem;
  /** Returns the item of an address. An item that is not identified by its id must be free. */
  find(address: ItemAddress, isFree: (item: OpenItem) => boolean): OpenItem | undefined;
  /** Adds another id of an item. */
  identify(item: OpenItem, id: unknown): void;
  /** Returns a function for a list that names all items again. */
  takeFrom(): TakeItem;
}

/**
 * Makes an index without items.
 *
 * An event belongs to the item with its `item_id`, if that is known and its type fits. Otherwise it belongs to the item at its
 * `output_index`, because GitHub Copilot gives an item another id in each event (github.com/vercel/ai/pull/18548). Without an
 * index, or if the item there has another type, it belongs to the latest item of its type.
 */
export function createItemIndex(flow: TextFlow): ItemIndex {
  const all: OpenItem[] = [];
  const byId = new Map<unknown, OpenItem>();
  const byIndex = new Map<unknown, OpenItem>();
  /** Items that may be unfinished, so that a search need not check all items. */
  const pending = new Map<string, OpenItem[]>();

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
      pushTo(pending, item);
      identify(item, id);
      if (typeof index === "number") byIndex.set(index, item);
      return item;
    },
    find(address, isFree) {
      const known = byId.get(address.id);
      if (known !== undefined && fits(known, address)) return known;
      const at = byIndex.get(address.index);
      if (at !== undefined && fits(at, address)) return isFree(at) ? at : undefined;
      if (at === undefined && typeof address.index === "number") return undefined;
      const others = pending.get(address.type) ?? [];
      while (others[others.length - 1]?.fields !== undefined) others.pop();
      return findRecent(others, farthest, (item) => fits(item, address) && isFree(item));
    },
    takeFrom: () =>
      createQueues(all, (address) => {
        const known = byId.get(address.id);
        return known !== undefined && fits(known, address) ? known : undefined;
      }),
  };
}

function pushTo(byType: Map<string, OpenItem[]>, item: OpenItem): void {
  const items = byType.get(item.type);
  if (items === undefined) byType.set(item.type, [item]);
  else items.push(item);
}

/** True if an item fits the address of an event. */
function fits({ type, call }: OpenItem, address: ItemAddress): boolean {
  if (type !== address.type) return false;
  return call?.id === undefined || typeof address.callId !== "string" || call.id === address.callId;
}

/** How many items a search without position and id goes back. No server has more unfinished items of a type at once. */
const farthest = 64;

/**
 * Assigns each item once: the known one, else the one with the same call id, else the next of its type. The next one may be a
 * call with another id only if both are the same call, because a server may invent new ids for the list.
 */
function createQueues(items: readonly OpenItem[], findKnown: (address: ItemAddress) => OpenItem | undefined): TakeItem {
  const byCallId = new Map<unknown, OpenItem>();
  const byType = new Map<string, OpenItem[]>();
  const taken = new Set<OpenItem>();
  for (const item of items) {
    if (item.call?.id !== undefined) byCallId.set(item.call.id, item);
    pushTo(byType, item);
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
