// Finds the item of a response that an event speaks of, whatever a server says of its place and its id.

import { findRecent, type Json, type UnknownRecord } from "../core/provider-kit.ts";
import { createCallDraft, isCallType, isSameCall, type CallDraft } from "./responses-calls.ts";
import { createItemTexts, type ItemTexts, type TextFlow } from "./responses-texts.ts";

/** One item, as far as it has come. */
export interface OpenItem {
  readonly type: string;
  /** Its place in the response; where the server does not say, its place in the stream. */
  readonly position: number;
  readonly texts: ItemTexts;
  readonly call: CallDraft | undefined;
  /** Whether the server has begun it by itself, and not with a piece of it. */
  begun: boolean;
  /** Whether it is another item once more. */
  isRepeated: boolean;
  /** The item once it is finished. */
  fields: { readonly [field: string]: Json } | undefined;
}

/** The facts in an event about its item. */
export interface ItemAddress {
  readonly id: unknown;
  readonly index: unknown;
  readonly type: string;
  readonly callId?: unknown;
}

/** Gives the item that one of a list is. */
type TakeItem = (address: ItemAddress, fields: UnknownRecord) => OpenItem | undefined;

/** The items of one stream. */
export interface ItemIndex {
  /** In the order in which they came. */
  readonly all: readonly OpenItem[];
  create(address: ItemAddress): OpenItem;
  /** The item of an address. One that is not known by its id must be free. */
  find(address: ItemAddress, isFree: (item: OpenItem) => boolean): OpenItem | undefined;
  /** Notes another id of an item. */
  identify(item: OpenItem, id: unknown): void;
  /** For a list that names all items again. */
  takeFrom(): TakeItem;
}

/**
 * Makes an index without items.
 *
 * An event belongs to the item of its `item_id`, where that is known and the kind fits. Else to the one at its `output_index`, because
 * GitHub Copilot gives an item another id in each event (github.com/vercel/ai/pull/18548). Where there is no index, or one of another
 * kind of item, it belongs to the latest one of its own kind.
 */
export function createItemIndex(flow: TextFlow): ItemIndex {
  const all: OpenItem[] = [];
  const byId = new Map<unknown, OpenItem>();
  const byIndex = new Map<unknown, OpenItem>();
  /** Those that are not known to be finished, so that a search does not go through all. */
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

/** Whether an item may be the one that an event speaks of. */
function fits({ type, call }: OpenItem, address: ItemAddress): boolean {
  if (type !== address.type) return false;
  return call?.id === undefined || typeof address.callId !== "string" || call.id === address.callId;
}

/** How far back an item is looked for of which neither the place nor the id is known: no server has more of a kind at work at once. */
const farthest = 64;

/**
 * Gives each item once: the one that is known, else the one of the same call, else the next of its kind. That one is a call of another id
 * only where it has asked for the same: a server that makes up new ids for the list has still asked for it once.
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
