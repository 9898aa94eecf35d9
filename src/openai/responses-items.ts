import { copyFields } from "../shared/plain-error.ts";
import { isRecord, listOf, textOf } from "../core/kit.ts";
import type { Json, ModelChunk } from "../core/index.ts";
import type { UnknownRecord } from "../shared/guards.ts";
import { findRecent } from "../shared/tool-arguments.ts";
import {
  argumentsOf,
  completeCall,
  declareCall,
  extendCall,
  isContained,
  isSameCall,
  nameCall,
  type CallType,
  createCallDraft,
  isCallType,
  type CallDraft,
} from "./responses-calls.ts";
import { createTextFlow, type TextFlow, type TextPlace, createItemTexts, type ItemTexts } from "./responses-texts.ts";

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
function createItemIndex(flow: TextFlow): ItemIndex {
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

export interface AddedText {
  readonly text: string;
  readonly isWhole: boolean;
}

/**
 * Assembles the items of a response. Servers send fragments, complete texts, finished items, or only a list of items in the final
 * event. If a finished item differs from its fragments, the finished item is used.
 *
 * `call-ready` is sent when a call is finished and another item has begun, or when the response has ended. It is not sent as soon
 * as a call is finished: a response that was cut off may mark its final call as completed, although arguments are missing.
 */
export class ItemAssembly {
  readonly #out: ModelChunk[];
  readonly #flow: TextFlow;
  readonly #index: ItemIndex;
  readonly #calls: OpenItem[] = [];
  readonly #byCallId = new Map<unknown, OpenItem>();
  #readyCalls = 0;

  constructor(out: ModelChunk[]) {
    this.#out = out;
    this.#flow = createTextFlow(out);
    this.#index = createItemIndex(this.#flow);
  }

  get isEmpty(): boolean {
    return this.#index.all.length === 0;
  }

  get hasCalls(): boolean {
    return this.#calls.length > 0;
  }

  get refused(): boolean {
    return this.#flow.refused;
  }

  begin({ item: fields, output_index: place }: UnknownRecord): void {
    if (!isRecord(fields)) return;
    const address = addressOf(fields, place);
    const found = this.#index.find(address, ({ begun }) => !begun);
    if (found !== undefined && isBegunLate(found, place)) {
      found.begun = true;
      return;
    }
    // Some servers give all items the same id, so an event with the id of a finished item begins another item.
    const item = found === undefined || found.fields !== undefined ? this.#create(address) : found;
    item.begun = true;
    this.#index.identify(item, fields.id);
    this.#name(item, fields);
  }

  finish({ item: fields, output_index: place }: UnknownRecord): void {
    if (!isRecord(fields)) return;
    const address = addressOf(fields, place);
    const found = this.#index.find(address, isUnfinished);
    if (found === undefined && this.#isRepeated(fields)) return;
    this.#finishItem(found ?? this.#create(address), fields);
  }

  addText({ item_id: id, output_index: index }: UnknownRecord, place: TextPlace, { text, isWhole }: AddedText): void {
    const address: ItemAddress = { id, index, type: place.kind === "reasoning-delta" ? "reasoning" : "message" };
    const { texts, fields } = this.#index.find(address, isUnfinished) ?? this.#create(address);
    if (fields !== undefined) return;
    if (isWhole) texts.complete(place, text);
    else texts.extend(place, text);
  }

  addArguments(event: UnknownRecord, type: CallType, { text, isWhole }: AddedText): void {
    const { item_id: id, output_index: index, call_id: callId, name } = event;
    const address: ItemAddress = { id, index, type, callId };
    const late = typeof index === "number" ? this.#index.find(address, () => true) : undefined;
    const item = this.#index.find(address, isUnfinished) ?? late ?? this.#create(address);
    const { call, fields } = item;
    if (call === undefined || fields !== undefined) return;
    if (!call.announced) this.#name(item, { call_id: callId, name });
    if (isWhole) completeCall(call, text, this.#out);
    else extendCall(call, text, this.#out);
  }

  /**
   * Reads the item list in the final event, and sends `call-ready` for all remaining calls. Set `cut` if the model was stopped
   * early.
   */
  settle(output: unknown, cut: boolean): void {
    const take = this.#index.takeFrom();
    for (const [place, fields] of listOf(output).entries()) {
      if (!isRecord(fields)) continue;
      const address = addressOf(fields, place);
      this.#finishItem(take(address, fields) ?? this.#create(address), fields);
    }
    for (const item of this.#calls.slice(this.#readyCalls)) this.#declare(item, cut);
    this.#readyCalls = this.#calls.length;
  }

  items(): readonly Json[] {
    const sorted = [...this.#index.all].sort((one, other) => one.position - other.position);
    return sorted.flatMap(({ fields, isRepeated }) => (fields === undefined || isRepeated ? [] : [fields]));
  }

  #create(address: ItemAddress): OpenItem {
    const item = this.#index.create(address);
    if (item.call !== undefined) this.#calls.push(item);
    this.#declareFinished();
    return item;
  }

  /** Some servers send a complete call twice. */
  #isRepeated(fields: UnknownRecord): boolean {
    const { call, fields: finished } = this.#byCallId.get(fields.call_id) ?? {};
    return call !== undefined && finished !== undefined && isSameCall(call, fields);
  }

  #finishItem(item: OpenItem, fields: UnknownRecord): void {
    if (item.fields !== undefined) return;
    item.fields = copyFields(fields);
    this.#index.identify(item, fields.id);
    item.texts.completeAll(fields);
    if (item.call === undefined) return;
    // `completeCall` must run before `#name`, because `#name` would send the outdated fragments.
    completeCall(item.call, argumentsOf(fields), this.#out);
    // Some gateways send the arguments only before the finished item (github.com/Wei-Shaw/sub2api/issues/6629).
    if (item.call.type === "function_call" && argumentsOf(fields) === "" && item.call.text !== "")
      item.fields = copyFields({ ...fields, arguments: item.call.text });
    this.#name(item, fields);
    this.#declareFinished();
  }

  #name(item: OpenItem, fields: UnknownRecord): void {
    const { call } = item;
    if (call === undefined) return;
    const callId = textOf(fields.call_id);
    const first = this.#byCallId.get(callId);
    if (first === undefined && callId !== "") this.#byCallId.set(callId, item);
    if (first !== undefined && first !== item && !call.announced) call.isHeld = true;
    nameCall(call, fields, this.#out);
  }

  #declare(item: OpenItem, cut: boolean): void {
    const { call } = item;
    if (call === undefined) return;
    const { call: first, fields } = this.#byCallId.get(call.id) ?? {};
    if (call.isHeld && first !== undefined && fields !== undefined) {
      item.isRepeated = item.fields === undefined ? isContained(call, first) : isSameCall(first, item.fields);
      if (item.isRepeated) return;
    }
    call.isHeld = false;
    nameCall(call, {}, this.#out);
    declareCall(call, cut, this.#out);
  }

  #declareFinished(): void {
    const { all } = this.#index;
    for (let item = this.#calls[this.#readyCalls]; item?.call !== undefined; item = this.#calls[this.#readyCalls]) {
      if (item.fields === undefined || item === all[all.length - 1]) return;
      this.#declare(item, false);
      this.#readyCalls += 1;
    }
  }
}

function addressOf({ id, type, call_id: callId }: UnknownRecord, index: unknown): ItemAddress {
  return { id, index, type: textOf(type), callId };
}

function isUnfinished({ fields }: OpenItem): boolean {
  return fields === undefined;
}

/** True if the start of an item arrives after the finished item. Positions are compared too, because all ids may be the same. */
function isBegunLate({ begun, fields, position }: OpenItem, place: unknown): boolean {
  return !begun && fields !== undefined && (typeof place !== "number" || place === position);
}
