import {
  Answer,
  countOf,
  createEventReader,
  type EventReader,
  type FinishReason,
  type FinishWords,
  isRecord,
  meaningOf,
  type ModelChunk,
  readServiceChanges,
  type RequestChange,
  usageOf,
  recordOf,
  textOf,
  type UnknownRecord,
  type Usage,
} from "../core/provider-kit.ts";
import { type BlockAssembly, createBlockAssembly } from "./block-assembly.ts";
import type { WireContainer } from "./messages-options.ts";
import { toContainer, toMetadataItems } from "./provider-metadata.ts";

/** `compaction` (beta): the service has summarized the context. The summary is sent back, and the model then continues. */
export const stopWords: FinishWords = new Map<string, FinishReason>([
  ["end_turn", "stop"],
  ["stop_sequence", "stop"],
  ["tool_use", "tool-calls"],
  ["max_tokens", "length"],
  ["model_context_window_exceeded", "context-full"],
  ["refusal", "refusal"],
  ["pause_turn", "paused"],
  ["compaction", "paused"],
]);

export function toFinishReason(raw: string, hasCalls: boolean, words: FinishWords = stopWords): FinishReason {
  const reason = meaningOf(raw, words);
  return reason === "stop" && hasCalls ? "tool-calls" : reason;
}

/** True if the final block may be incomplete. The service closes every block, even one that a stop sequence has cut off. */
export function mayBeCut(raw: string, words: FinishWords = stopWords): boolean {
  const reason = meaningOf(raw, words);
  return raw === "stop_sequence" || (reason !== "stop" && reason !== "tool-calls" && reason !== "paused");
}

interface UsageCounts {
  /** The counts in each event are totals, not increments. A missing count keeps its earlier value. */
  add(usage: unknown): Usage | undefined;
}

type Counts = { [Name in "input" | "cacheWrite" | "cacheRead" | "output" | "reasoning"]?: number | undefined };

/** `input_tokens` excludes tokens that were read from or written to the cache. `Usage` includes these tokens in the input. */
export function countUsage(): UsageCounts {
  let counts: Counts = {};
  let compactions: readonly Counts[] = [];
  return {
    add(usage) {
      if (!isRecord(usage)) return undefined;
      counts = readCounts(usage, counts);
      if (Array.isArray(usage.iterations)) compactions = readCompactions(usage.iterations);
      return toUsage(counts, compactions);
    },
  };
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

/** The counts of the message exclude the requests that summarized the context, although these requests are billed. */
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
  readonly usage: UsageCounts;
  /** True after the first event that follows `message_start`. */
  hasBegun: boolean;
  /** True after a second `message_start` in the middle of the answer. */
  isDoubled: boolean;
  container: WireContainer | undefined;
  changes: readonly RequestChange[];
  /** The stop reason in `message_start`. It counts only if no other follows. */
  opening: string;
}

/** Unknown events and deltas are ignored. Unknown blocks are kept and sent back. */
export function createMessagesReader(out: ModelChunk[], words: FinishWords = stopWords): EventReader {
  const answer = new Answer(out, words);
  const reading: Reading = {
    answer,
    blocks: createBlockAssembly(out),
    usage: countUsage(),
    hasBegun: false,
    isDoubled: false,
    container: undefined,
    changes: [],
    opening: "",
  };
  return createEventReader(answer, {
    // The connection may be lost before `message_stop`. Some gateways end the stream without this event.
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

/** `message_start` contains the whole message if code on the server calls a tool and the model generates nothing. */
function readMessage(message: unknown, reading: Reading): void {
  if (!isRecord(message)) return;
  // Some gateways send `message_start` twice. Only blocks that begin again show that another message has begun.
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
  // After another model has taken over in the middle of a stream, a second list replaces the first.
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

/** The types that are known. */
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
  // A refused message has no provider metadata, because its content must not be sent back to the model.
  if (reason === "refusal") answer.explain();
  else answer.keep(toMetadataItems(blocks.blocks(mayBeCut(raw, words)), container));
  out.push({ type: "finish", reason, raw });
}
