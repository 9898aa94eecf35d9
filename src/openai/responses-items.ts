import { copyFields, isRecord, listOf, textOf, type Json, type ModelChunk, type UnknownRecord } from "../core/provider-kit.ts";
import {
  argumentsOf,
  completeCall,
  declareCall,
  extendCall,
  isContained,
  isSameCall,
  nameCall,
  type CallType,
} from "./responses-calls.ts";
import { createItemIndex, type ItemAddress, type ItemIndex, type OpenItem } from "./responses-item-index.ts";
import { createTextFlow, type TextFlow, type TextPlace } from "./responses-texts.ts";

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
