import { Answer, createEventReader } from "../shared/adapters/read-answer.ts";
import { countOf, type EventReader, isRecord, recordOf, textOf, usageOf } from "../core/kit.ts";
import type { RequestChange } from "../core/types/provider.ts";
import { type FinishReason, type Json, type ModelChunk, providerError, type Usage } from "../core/index.ts";
import { type FinishWords, meaningOf } from "../shared/judge-finish.ts";
import { readServiceChanges } from "../shared/adapters/request-changes.ts";
import { setField, type UnknownRecord } from "../shared/guards.ts";
import { copyFields } from "../shared/plain-error.ts";
import { StreamedCall, StreamedCalls } from "../shared/adapters/streamed-calls.ts";
import { endArguments, readArguments } from "../shared/tool-arguments.ts";
import type { WireContainer, WireBlock } from "./messages-options.ts";
import { toContainer, toMetadataItems, invalidJsonKey } from "./provider-metadata.ts";

interface OpenBlock {
  readonly fields: { [field: string]: Json };
  json: string;
  citations: Json[] | undefined;
  /** A call to one of the run's tools. Blocks for tools that the server runs have no `call`. */
  readonly call: StreamedCall | undefined;
}

/**
 * Sends each delta as a chunk immediately, and keeps the blocks unchanged for the next request. The service closes every block, even a
 * block that was cut off, so a closed call may be incomplete. `call-ready` is therefore sent only when the next block begins or the stop
 * reason is known.
 *
 * If a text delta's block is missing or has a different type, the delta begins a new block. No text is lost, and each block that
 * is sent back has only the fields of its type.
 */
class BlockAssembly {
  readonly #out: ModelChunk[];
  readonly #blocks: OpenBlock[] = [];
  readonly #byIndex = new Map<unknown, OpenBlock>();
  readonly #streamed: StreamedCalls;
  hasCalls = false;

  constructor(out: ModelChunk[]) {
    this.#out = out;
    this.#streamed = new StreamedCalls(out);
  }

  get size(): number {
    return this.#blocks.length;
  }

  has(index: unknown): boolean {
    return this.#byIndex.has(index);
  }

  start(index: unknown, block: UnknownRecord): void {
    if (isRepeated(this.#byIndex.get(index), block)) return;
    this.settle(false);
    const fields = copyFields(block);
    const facts = { id: textOf(fields.id), name: textOf(fields.name) };
    const call = fields.type === "tool_use" ? new StreamedCall(this.#streamed, `block-${this.size}`, facts) : undefined;
    const begun: OpenBlock = { fields, json: "", citations: undefined, call };
    this.hasCalls ||= call !== undefined;
    this.#blocks.push(begun);
    this.#byIndex.set(index, begun);
    announce(fields, call, this.#out);
  }

  /** Adds a delta. Returns false if the stream contradicts itself; the caller must then stop reading. */
  extend(index: unknown, delta: UnknownRecord): boolean {
    if (!fits(this.#byIndex.get(index), delta)) {
      if (delta.type !== "text_delta" && delta.type !== "thinking_delta") return true;
      this.start(index, { type: blockType(delta) });
    }
    const block = this.#byIndex.get(index);
    return block === undefined || extendBlock(block, delta, this.#out);
  }

  /**
   * Sends `call-ready` if the newest block is a call. Set `cut` if the model was stopped early: the call is then marked as
   * truncated.
   */
  settle(cut: boolean): void {
    const last = this.#blocks.at(-1);
    if (last?.call?.isReady === false) endCall(last.call, last.fields, cut);
  }

  /**
   * Returns the blocks for the next request. With `cut`, omits the final block if the service would reject the block as incomplete.
   */
  blocks(cut: boolean): readonly WireBlock[] {
    return this.#blocks.flatMap((block, position) => toWireBlock(block, cut && position === this.size - 1));
  }
}

/** True for the second start of the same call, which some gateways send. */
function isRepeated(block: OpenBlock | undefined, { type, id }: UnknownRecord): boolean {
  if (block?.call?.isReady !== false || block.json !== "") return false;
  return type === "tool_use" && textOf(id) !== "" && id === block.fields.id;
}

function blockType({ type }: UnknownRecord): string | undefined {
  switch (type) {
    case "text_delta":
    case "citations_delta":
      return "text";
    case "thinking_delta":
    case "signature_delta":
      return "thinking";
    case "compaction_delta":
      return "compaction";
    case "input_json_delta":
      return "tool_use";
    default:
      return undefined;
  }
}

/** True if a delta fits its block. Compares only how the block's type ends, because server tool calls have their own types, such as "server_tool_use". */
function fits(block: OpenBlock | undefined, delta: UnknownRecord): boolean {
  const type = blockType(delta);
  return block !== undefined && type !== undefined && textOf(block.fields.type).endsWith(type);
}

function announce(fields: OpenBlock["fields"], call: StreamedCall | undefined, out: ModelChunk[]): void {
  if (call !== undefined) call.announce();
  else if (fields.type === "text") pushText(out, "text-delta", textOf(fields.text));
  else if (fields.type === "thinking") pushText(out, "reasoning-delta", textOf(fields.thinking));
}

function extendBlock(block: OpenBlock, delta: UnknownRecord, out: ModelChunk[]): boolean {
  if (delta.type === "input_json_delta") return extendInput(block, textOf(delta.partial_json), out);
  extendFields(block, delta, out);
  return true;
}

function extendFields(block: OpenBlock, delta: UnknownRecord, out: ModelChunk[]): void {
  const { fields } = block;
  switch (delta.type) {
    case "text_delta":
      append(fields, "text", delta.text);
      return pushText(out, "text-delta", textOf(delta.text));
    case "thinking_delta":
      append(fields, "thinking", delta.thinking);
      return pushText(out, "reasoning-delta", textOf(delta.thinking));
    case "citations_delta":
      block.citations ??= Array.isArray(fields.citations) ? [...fields.citations] : [];
      block.citations.push(copyJson(delta.citation));
      fields.citations = block.citations;
      return;
    // Each of these deltas contains a complete value that replaces the earlier one.
    case "signature_delta":
    case "compaction_delta":
      for (const [field, value] of Object.entries(copyFields(delta))) if (field !== "type") setField(fields, field, value);
      return;
    default:
      return;
  }
}

function append(fields: OpenBlock["fields"], field: string, text: unknown): void {
  fields[field] = textOf(fields[field]) + textOf(text);
}

function extendInput(block: OpenBlock, text: string, out: ModelChunk[]): boolean {
  const { call } = block;
  if (text === "") return true;
  if (call?.isReady === true) {
    const message = "The service added arguments to a call after the call was complete.";
    out.push({ type: "error", error: providerError("server", message) });
    return false;
  }
  block.json += text;
  call?.extend(text);
  return true;
}

/** Ends a call. If code running on the server made the call, its complete arguments are in `fields.input`, not in deltas. */
function endCall(call: StreamedCall, { input }: OpenBlock["fields"], cut: boolean): void {
  if (call.text === "" && isRecord(input) && Object.keys(input).length > 0) call.complete(JSON.stringify(input));
  call.end(endArguments(call.text, cut));
}

/**
 * Returns a block for the next request, or nothing if the service would reject it, such as cut-off thinking without a signature or a server
 * call with incomplete input.
 */
function toWireBlock({ fields, json, call }: OpenBlock, cut: boolean): readonly WireBlock[] {
  const { type } = fields;
  if (typeof type !== "string" || call?.first !== undefined) return [];
  if (cut && type === "thinking" && textOf(fields.signature) === "") return [];
  if (json.trim() === "") return [{ ...fields, type }];
  const input = readArguments(json, 4);
  if (isRecord(input)) return [{ ...fields, type, input }];
  return call === undefined ? [] : [{ ...fields, type, input: { [invalidJsonKey]: json } }];
}

function copyJson(value: unknown): Json {
  const copy: Json = JSON.parse(JSON.stringify(value ?? null));
  return copy;
}

function pushText(out: ModelChunk[], type: "text-delta" | "reasoning-delta", text: string): void {
  if (text !== "") out.push({ type, text });
}

export function toFinishReason(raw: string, hasCalls: boolean, words: FinishWords = new Map()): FinishReason {
  const reason = meaningOf(raw, words);
  return reason === "stop" && hasCalls ? "tool-calls" : reason;
}

/** True if the stop reason means that the final block may be incomplete. The service closes every block, even one that was cut off. */
export function mayBeCut(raw: string, words: FinishWords = new Map()): boolean {
  const reason = meaningOf(raw, words);
  return raw === "stop_sequence" || (reason !== "stop" && reason !== "tool-calls" && reason !== "paused");
}

type Counts = { [Name in "input" | "cacheWrite" | "cacheRead" | "output" | "reasoning"]?: number | undefined };

/**
 * Collects token counts. The counts in each event are totals, not increments. A missing count keeps its earlier value. `input_tokens`
 * excludes tokens that were read from or written to the cache, but `Usage` includes them in the input.
 */
export class MessagesUsage {
  #counts: Counts = {};
  #compactions: readonly Counts[] = [];

  add(usage: unknown): Usage | undefined {
    if (!isRecord(usage)) return undefined;
    this.#counts = readCounts(usage, this.#counts);
    if (Array.isArray(usage.iterations)) this.#compactions = readCompactions(usage.iterations);
    return toUsage(this.#counts, this.#compactions);
  }
}

function readCounts(usage: UnknownRecord, before: Counts): Counts {
  return {
    input: countOf(usage.input_tokens) ?? before.input,
    cacheWrite: countOf(usage.cache_creation_input_tokens) ?? before.cacheWrite,
    cacheRead: countOf(usage.cache_read_input_tokens) ?? before.cacheRead,
    output: countOf(usage.output_tokens) ?? before.output,
    reasoning: countOf(recordOf(usage.output_tokens_details).thinking_tokens) ?? before.reasoning,
  };
}

/** Returns the token counts of the requests that summarized the context. The message's counts exclude them, although they are billed. */
function readCompactions(iterations: readonly unknown[]): readonly Counts[] {
  return iterations
    .map(recordOf)
    .filter(({ type }) => type === "compaction")
    .map((usage) => readCounts(usage, {}));
}

function toUsage(last: Counts, compactions: readonly Counts[]): Usage | undefined {
  if (last.input === undefined && last.output === undefined) return undefined;
  const requests = [last, ...compactions];
  const sum = (name: keyof Counts): number | undefined => {
    const known = requests.flatMap((counts) => counts[name] ?? []);
    return known.length === 0 ? undefined : known.reduce((total, count) => total + count, 0);
  };
  const [cacheWrite, cacheRead, reasoning] = [sum("cacheWrite"), sum("cacheRead"), sum("reasoning")];
  const inputTokens = (sum("input") ?? 0) + (cacheWrite ?? 0) + (cacheRead ?? 0);
  return usageOf({ input: inputTokens, output: sum("output") ?? 0, cached: cacheRead, cacheWrite, reasoning });
}

interface Reading {
  readonly answer: Answer;
  readonly blocks: BlockAssembly;
  readonly usage: MessagesUsage;
  /** True after the first event that follows `message_start`. */
  hasBegun: boolean;
  /** True after a second `message_start` in the middle of the answer. */
  isDoubled: boolean;
  container: WireContainer | undefined;
  changes: readonly RequestChange[];
  /** The stop reason in `message_start`. Used only if no later event has one. */
  opening: string;
}

/** Converts a message's events to chunks. Unknown events and deltas are ignored. Unknown blocks are kept and sent back. */
export function createMessagesReader(out: ModelChunk[], words: FinishWords = new Map()): EventReader {
  const answer = new Answer(out, words);
  const reading: Reading = {
    answer,
    blocks: new BlockAssembly(out),
    usage: new MessagesUsage(),
    hasBegun: false,
    isDoubled: false,
    container: undefined,
    changes: [],
    opening: "",
  };
  return createEventReader(answer, {
    // The stream may also end without `message_stop` if the connection is lost or a gateway omits the event.
    mayGoOn: () => !answer.isOver,
    read: (event) => readEvent(event, reading),
    end: () => endReading(reading),
  });
}

function readEvent(event: UnknownRecord, reading: Reading): void {
  switch (event.type) {
    case "message_start":
      return readMessage(event.message, reading);
    case "content_block_start":
      reading.hasBegun = true;
      return startBlock(event.index, event.content_block, reading);
    case "content_block_delta":
      reading.hasBegun = true;
      return readDelta(event.index, event.delta, reading);
    case "message_delta":
      reading.hasBegun = true;
      readEnding(event, reading);
      return stop(recordOf(event.delta).stop_reason, reading);
    case "message_stop":
      if (reading.answer.finish === undefined) stop(reading.opening, reading);
      return reading.answer.close();
    case "error":
      return reading.answer.fail(event.error);
    default:
      return;
  }
}

/** Reads `message_start`, which contains the whole message if code on the server calls a tool and the model generates nothing. */
function readMessage(message: unknown, reading: Reading): void {
  if (!isRecord(message)) return;
  // Some gateways send `message_start` twice, so the second one counts as a new message only if the blocks also start again.
  if (reading.hasBegun) reading.isDoubled = true;
  if (Array.isArray(message.content) && reading.blocks.size === 0) {
    for (const [index, block] of message.content.entries()) startBlock(index, block, reading);
  }
  readEnding({ delta: message, usage: message.usage, input_transformations: message.input_transformations }, reading);
  reading.opening = textOf(message.stop_reason);
}

function startBlock(index: unknown, block: unknown, reading: Reading): void {
  if (!isRecord(block)) return;
  if (reading.isDoubled && reading.blocks.has(index)) return reading.answer.leave();
  if (block.type === "text") reading.answer.watchText(textOf(block.text));
  reading.blocks.start(index, block);
}

function readDelta(index: unknown, delta: unknown, reading: Reading): void {
  if (!isRecord(delta)) return;
  if (delta.type === "text_delta") reading.answer.watchText(textOf(delta.text));
  if (!reading.blocks.extend(index, delta)) reading.answer.failed = true;
}

function readEnding({ delta, usage: wire, input_transformations: changes }: UnknownRecord, reading: Reading): void {
  // If a different model takes over mid-stream, its list of input changes replaces the first model's list.
  if (Array.isArray(changes)) reading.changes = readServiceChanges(changes, toChange);
  const { answer } = reading;
  answer.count(reading.usage.add(wire));
  if (!isRecord(delta)) return;
  reading.container = toContainer(delta.container) ?? reading.container;
  const { explanation, category } = recordOf(delta.stop_details);
  const said = [textOf(explanation).trim(), textOf(category) && `Category: ${textOf(category)}.`].filter((text) => text !== "");
  if (said.length > 0) answer.explanation = said.join(" ");
}

function stop(raw: unknown, { answer, blocks }: Reading): void {
  if (textOf(raw) === "") return;
  answer.stop(textOf(raw));
  blocks.settle(mayBeCut(textOf(raw), answer.words));
}

/** The changes that the service reports, each with its `action` in the `request-adjusted` event. */
const transformations: ReadonlyMap<unknown, RequestChange["action"]> = new Map([
  ["thinking_dropped", "removed"],
  ["thinking_mismatch_allowed", "kept"],
] as const);

function toChange({ type, path, reason }: UnknownRecord): Omit<RequestChange, "by"> | undefined {
  const action = transformations.get(type);
  return action && { field: textOf(path), action, reason: textOf(reason) };
}

function endReading({ answer, blocks, container, changes }: Reading): void {
  const { out, words, finish, failed } = answer;
  if (changes.length > 0) out.push({ type: "request-adjusted", changes });
  if (failed || finish === undefined) return;
  const { raw } = finish;
  const reason = toFinishReason(raw, blocks.hasCalls, words);
  // Does not store provider metadata for a refused message, because its content must not be sent back to the model.
  if (reason === "refusal") answer.explain();
  else answer.keep(toMetadataItems(blocks.blocks(mayBeCut(raw, words)), container));
  out.push({ type: "finish", reason, raw });
}
