import { copyFields } from "../shared/plain-error.ts";
import { isRecord, listOf, textOf } from "../core/kit.ts";
import type { Json, ModelChunk } from "../core/index.ts";
import type { UnknownRecord } from "../shared/guards.ts";
import { StreamedCalls } from "../shared/adapters/streamed-calls.ts";
import { argumentsOf, type CallType, isCallType, ItemCall } from "./responses-calls.ts";
import { ItemTexts, TextFlow, type TextPlace } from "./responses-texts.ts";

interface OpenItem {
  readonly type: string;
  /** The index in the response. Undefined if the server sends none. */
  readonly index: number | undefined;
  /** The position in the response, or the order of arrival if the server sends no index. */
  readonly position: number;
  readonly texts: ItemTexts;
  readonly call: ItemCall | undefined;
  /** True once `output_item.added` has arrived. Some servers send fragments of the item before that event. */
  isBegun: boolean;
  /** The finished item's fields. */
  fields: { readonly [field: string]: Json } | undefined;
}

interface ItemAddress {
  readonly type: string;
  readonly id: unknown;
  readonly index: unknown;
}

export interface AddedText {
  readonly text: string;
  readonly isWhole: boolean;
}

/**
 * Assembles the items of a response. Servers send fragments, complete texts, finished items, or only a list of items in the final
 * event. If a finished item differs from its fragments, the finished item is used.
 *
 * `call-ready` is sent when a call is finished and another item has begun, or when the response has ended. It is not sent as soon as a call
 * is finished, because a response that was cut off may mark its final call as completed, although arguments are missing.
 */
export class ItemAssembly {
  readonly #flow: TextFlow;
  readonly #streamed: StreamedCalls;
  readonly #all: OpenItem[] = [];
  readonly #calls: OpenItem[] = [];
  readonly #byId = new Map<unknown, OpenItem>();
  /** The unfinished items. Each is listed under a key for its type, and under a second key for its type and index. */
  readonly #open = new Map<string, OpenItem[]>();
  #readyCalls = 0;

  constructor(out: ModelChunk[]) {
    this.#flow = new TextFlow(out);
    this.#streamed = new StreamedCalls(out);
  }

  get isEmpty(): boolean {
    return this.#all.length === 0;
  }

  get hasCalls(): boolean {
    return this.#calls.length > 0;
  }

  get refused(): boolean {
    return this.#flow.refused;
  }

  begin({ item: fields, output_index: index }: UnknownRecord): void {
    if (!isRecord(fields)) return;
    const address = { id: fields.id, index, type: textOf(fields.type) };
    const found = this.#find(address);
    if (found === undefined && this.#isLate(address)) return;
    const item = found === undefined || found.isBegun ? this.#create(address) : found;
    item.isBegun = true;
    this.#identify(item, fields.id);
    item.call?.identify(fields);
  }

  finish({ item: fields, output_index: index }: UnknownRecord): void {
    if (!isRecord(fields)) return;
    const address = { id: fields.id, index, type: textOf(fields.type) };
    this.#finishItem(this.#find(address) ?? this.#create(address), fields);
  }

  addText({ item_id: id, output_index: index }: UnknownRecord, place: TextPlace, { text, isWhole }: AddedText): void {
    const address = { id, index, type: place.kind === "reasoning-delta" ? "reasoning" : "message" };
    if (this.#isLate(address)) return;
    const { texts } = this.#find(address) ?? this.#create(address);
    if (isWhole) texts.complete(place, text);
    else texts.extend(place, text);
  }

  addArguments(event: UnknownRecord, type: CallType, { text, isWhole }: AddedText): void {
    const { item_id: id, output_index: index, call_id: callId, name } = event;
    const address = { id, index, type };
    if (this.#isLate(address)) return;
    const { call } = this.#find(address) ?? this.#create(address);
    call?.identify({ call_id: callId, name });
    if (isWhole) call?.complete(text);
    else call?.extend(text);
  }

  /**
   * Reads the item list in the final event, and sends `call-ready` for all remaining calls. Set `cut` if the model was stopped
   * early.
   */
  settle(output: unknown, cut: boolean): void {
    const take = this.#takeFrom();
    for (const [index, fields] of listOf(output).entries()) {
      if (!isRecord(fields)) continue;
      const item = take(fields) ?? this.#create({ id: fields.id, index, type: textOf(fields.type) });
      this.#finishItem(item, fields);
    }
    for (const { call } of this.#calls.slice(this.#readyCalls)) call?.declare(cut);
    this.#readyCalls = this.#calls.length;
  }

  items(): readonly Json[] {
    const sorted = [...this.#all].sort((one, other) => one.position - other.position);
    return sorted.flatMap(({ fields, call }) => (fields === undefined || call?.first !== undefined ? [] : [fields]));
  }

  /**
   * Finds an event's unfinished item, although ids and positions are unreliable. Takes the latest item at the event's `output_index`
   * (opencode#45013), because GitHub Copilot changes an item's id in each event (github.com/vercel/ai/pull/18548). If several items have
   * that index (llmgateway#2908), or none, takes the item with the event's id.
   */
  #find({ type, id, index }: ItemAddress): OpenItem | undefined {
    const known = this.#byId.get(id);
    const isOpen = known !== undefined && known.type === type && known.fields === undefined;
    if (isOpen && (known.index === index || typeof index !== "number")) return known;
    return this.#open.get(keyOf(type, index))?.at(-1) ?? (isOpen ? known : undefined);
  }

  /** True if an event's item is already finished. */
  #isLate({ type, id, index }: ItemAddress): boolean {
    const known = this.#byId.get(id);
    return known?.type === type && known.fields !== undefined && known.index === (typeof index === "number" ? index : undefined);
  }

  #create(address: ItemAddress): OpenItem {
    const { type, id } = address;
    const index = typeof address.index === "number" ? address.index : undefined;
    const call = isCallType(type) ? new ItemCall(this.#streamed, `item-${this.#all.length}`, type) : undefined;
    const texts = new ItemTexts(this.#flow);
    const item: OpenItem = { type, index, position: index ?? this.#all.length, texts, call, isBegun: false, fields: undefined };
    this.#all.push(item);
    if (call !== undefined) this.#calls.push(item);
    for (const key of keysOf(type, index)) pushTo(this.#open, key, item);
    this.#identify(item, id);
    this.#declareFinished();
    return item;
  }

  #identify(item: OpenItem, id: unknown): void {
    if (typeof id === "string" && id !== "") this.#byId.set(id, item);
  }

  #finishItem(item: OpenItem, fields: UnknownRecord): void {
    if (item.fields !== undefined) return;
    const { type, index, texts, call } = item;
    item.fields = copyFields(fields);
    for (const key of keysOf(type, index)) {
      const open = this.#open.get(key) ?? [];
      open.splice(open.lastIndexOf(item), 1);
    }
    this.#identify(item, fields.id);
    texts.completeAll(fields);
    if (call === undefined) return;
    call.complete(argumentsOf(fields));
    // Some gateways omit the arguments from the finished item, so the streamed ones are used (github.com/Wei-Shaw/sub2api/issues/6629).
    if (type === "function_call" && argumentsOf(fields) === "" && call.text !== "")
      item.fields = copyFields({ ...fields, arguments: call.text });
    call.identify(fields);
    this.#declareFinished();
  }

  #declareFinished(): void {
    for (let item = this.#calls[this.#readyCalls]; item !== undefined; item = this.#calls[this.#readyCalls]) {
      if (item.fields === undefined || item === this.#all.at(-1)) return;
      item.call?.declare(false);
      this.#readyCalls += 1;
    }
  }

  /**
   * Returns a function that finds the item of an entry in the final list: the item with the same id or call id, or else the oldest item of
   * the same type that has no entry yet. Some servers use new ids in the list.
   */
  #takeFrom(): (fields: UnknownRecord) => OpenItem | undefined {
    const byCallId = new Map<unknown, OpenItem>(this.#calls.map((item) => [item.call?.id ?? item, item]));
    const queues = new Map<string, OpenItem[]>();
    for (const item of this.#all.toReversed()) pushTo(queues, item.type, item);
    const taken = new Set<OpenItem>();
    return (fields) => {
      const queue = queues.get(textOf(fields.type)) ?? [];
      let next = queue.at(-1);
      for (; next !== undefined && taken.has(next); next = queue.at(-1)) queue.pop();
      const known = this.#byId.get(fields.id) ?? byCallId.get(fields.call_id);
      const item = known?.type === fields.type ? known : next?.call?.mayBe(fields) === false ? undefined : next;
      if (item !== undefined) taken.add(item);
      return item;
    };
  }
}

function pushTo(lists: Map<string, OpenItem[]>, key: string, item: OpenItem): void {
  const items = lists.get(key);
  if (items === undefined) lists.set(key, [item]);
  else items.push(item);
}

function keyOf(type: string, index: unknown): string {
  return typeof index === "number" ? `${type} ${index}` : type;
}

function keysOf(type: string, index: number | undefined): readonly string[] {
  return index === undefined ? [type] : [type, keyOf(type, index)];
}
