import { Answer, createEventReader } from "../shared/adapters/read-answer.ts";
import { copyFields } from "../shared/plain-error.ts";
import { type EventReader, isRecord, recordOf, textOf, toArgumentsObject } from "../core/kit.ts";
import { type Json, type ModelChunk, providerError, type ProviderError, type ToolDefinition } from "../core/index.ts";
import type { UnknownRecord } from "../shared/guards.ts";
import { encodeBase64 } from "../shared/media-source.ts";
import type { FinishWords } from "../shared/judge-finish.ts";
import { StreamedCall, StreamedCalls } from "../shared/adapters/streamed-calls.ts";
import { endArguments, readArguments } from "../shared/tool-arguments.ts";
import { RawEnding, readFinish, readModelUsage, toFinishReason, toModelError } from "./model-end.ts";
import type { ModelSettings, MessagePart } from "./model-options.ts";
import { type ApprovalAnswer, toMetadataItems } from "./provider-metadata.ts";

function toFilePart({ type, mediaType, data }: UnknownRecord): MessagePart | undefined {
  const place = toPlace(
    isRecord(data) && !(data instanceof Uint8Array) && !(data instanceof URL) ? (data.data ?? data.url) : data,
  );
  return place === undefined ? undefined : { type: textOf(type), mediaType: textOf(mediaType), ...place };
}

function toPlace(data: unknown): { readonly [field: string]: Json } | undefined {
  if (data instanceof Uint8Array) return { data: encodeBase64(data) };
  if (data instanceof URL) return { url: data.href };
  if (typeof data !== "string" || data === "") return undefined;
  return /^https?:/i.test(data) ? { url: data } : { data };
}

interface PartDraft {
  readonly part: MessagePart;
  text: string | undefined;
  /** The part's newest metadata. To save work, the metadata is copied when the message is finished, not for each event. */
  metadata: unknown;
}

class MessageParts {
  readonly #drafts: PartDraft[] = [];
  readonly #open = { text: new Map<unknown, PartDraft>(), reasoning: new Map<unknown, PartDraft>() };

  /** Begins a new text part, even if one with this id already exists. */
  start(type: "text" | "reasoning", id: unknown, metadata: unknown): PartDraft {
    const draft: PartDraft = { part: { type }, text: "", metadata };
    this.#drafts.push(draft);
    this.#open[type].set(id, draft);
    return draft;
  }

  /** Adds a fragment to the text part with this id. Begins a part if the id is new, so that no fragment is lost. */
  extend(type: "text" | "reasoning", id: unknown, { text, metadata }: Omit<PartDraft, "part">): void {
    const draft = this.#open[type].get(id) ?? this.start(type, id, undefined);
    draft.text += text ?? "";
    if (isRecord(metadata)) draft.metadata = metadata;
  }

  end(type: "text" | "reasoning", id: unknown, metadata: unknown): void {
    const draft = this.#open[type].get(id);
    if (draft !== undefined && isRecord(metadata)) draft.metadata = metadata;
  }

  add(part: MessagePart, metadata: unknown): void {
    this.#drafts.push({ part, text: undefined, metadata });
  }

  all(): readonly MessagePart[] {
    return this.#drafts
      .map(toPart)
      .filter((part) => part.type !== "text" || part.text !== "" || part.providerOptions !== undefined);
  }
}

function toPart({ part, text, metadata }: PartDraft): MessagePart {
  return {
    ...part,
    ...(text === undefined ? {} : { text }),
    ...(isRecord(metadata) ? { providerOptions: copyFields(metadata) } : {}),
  };
}

interface CallPorts {
  readonly out: ModelChunk[];
  readonly parts: MessageParts;
  readonly names: ReadonlySet<string>;
}

interface ServiceCall {
  readonly toolName: string;
  readonly input: Json;
}

class MessageCalls {
  readonly #ports: CallPorts;
  readonly #streamed: StreamedCalls;
  readonly #open = new Map<unknown, StreamedCall>();
  readonly #ofService = new Map<unknown, ServiceCall>();
  #begun = 0;
  hasOwn = false;

  constructor(ports: CallPorts) {
    this.#ports = ports;
    this.#streamed = new StreamedCalls(ports.out);
  }

  /**
   * Streams a call only if it names one of the run's tools. The service may run any other call itself, and chunks cannot be withdrawn once
   * sent.
   */
  startInput({ id, toolName, providerExecuted, inputEncoding }: UnknownRecord): void {
    // Ignores calls that the service runs, because the AI SDK package sends them again once they are complete. Also ignores a second start
    // with the same id.
    if (providerExecuted === true || this.#open.has(id)) return;
    const name = textOf(toolName);
    const call = this.#begin(id, name, !this.#ports.names.has(name) || inputEncoding === "text");
    this.#open.set(id, call);
    call.announce();
  }

  extendInput({ id, delta }: UnknownRecord): void {
    this.#open.get(id)?.extend(textOf(delta));
  }

  take(said: UnknownRecord): void {
    const { toolCallId, providerMetadata } = said;
    const argsText = typeof said.input === "string" ? said.input : JSON.stringify(said.input ?? {});
    const part = { type: "tool-call", toolCallId: textOf(toolCallId), toolName: textOf(said.toolName) };
    const call = this.#open.get(toolCallId) ?? this.#begin(toolCallId, part.toolName, true);
    this.#open.delete(toolCallId);
    if (said.providerExecuted === true) {
      const input = readInput(argsText);
      this.#ofService.set(toolCallId, { toolName: part.toolName, input });
      this.#ports.parts.add({ ...part, input, providerExecuted: true }, providerMetadata);
      return;
    }
    call.name = part.toolName;
    call.complete(argsText);
    this.#end(call, argsText, false);
    if (call.first === undefined) this.#ports.parts.add({ ...part, input: toInput(argsText) }, providerMetadata);
  }

  ofService(id: unknown): ServiceCall | undefined {
    return this.#ofService.get(id);
  }

  settle(): void {
    for (const call of this.#open.values()) {
      const { id = "", name, text } = call;
      this.#end(call, text, true);
      this.#ports.parts.add({ type: "tool-call", toolCallId: id, toolName: name, input: toInput(text) }, undefined);
    }
    this.#open.clear();
  }

  #begin(id: unknown, name: string, isHeld: boolean): StreamedCall {
    const call = new StreamedCall(this.#streamed, `call-${this.#begun}`, { id: textOf(id), name, isHeld });
    this.#begun += 1;
    return call;
  }

  #end(call: StreamedCall, argsText: string, isCut: boolean): void {
    call.end(endArguments(argsText, isCut));
    this.hasOwn = true;
  }
}

function toInput(argsText: string): Json {
  return toArgumentsObject(readInput(argsText));
}

/** Parses a call's input. Returns the string itself if it is not JSON, or is nested too deeply. */
function readInput(argsText: string): Json {
  return readArguments(argsText, 4) ?? argsText;
}

interface PartStream {
  getReader(): PartReader;
}

interface PartReader {
  read(): Promise<IteratorResult<unknown>>;
  cancel(reason?: unknown): Promise<void>;
}

/**
 * Cancels the stream when the signal fires, because a model may ignore the signal. The ReadableStream's own iterator is not used,
 * because it cannot be cancelled while it waits for a part, and because some browsers lack it. A value that is not a ReadableStream
 * is returned unchanged.
 */
export function toIterable(stream: unknown, signal: AbortSignal): unknown {
  if (!isPartStream(stream)) return stream;
  const reader = stream.getReader();
  const cancel = (): void => void reader.cancel(signal.reason).then(undefined, () => {});
  signal.addEventListener("abort", cancel, { once: true });
  if (signal.aborted) cancel();
  return {
    [Symbol.asyncIterator]: (): AsyncIterator<unknown> => ({
      next: () => reader.read(),
      async return() {
        await reader.cancel();
        return { done: true, value: undefined };
      },
    }),
  };
}

function isPartStream(value: unknown): value is PartStream {
  return isRecord(value) && typeof value.getReader === "function";
}

interface ReaderPorts {
  readonly settings: ModelSettings;
  readonly words: FinishWords;
  readonly tools: readonly ToolDefinition[];
}

interface Reading extends Pick<ReaderPorts, "settings" | "words"> {
  readonly answer: Answer;
  readonly parts: MessageParts;
  readonly calls: MessageCalls;
  readonly references: Json[];
  readonly answers: ApprovalAnswer[];
  answerType: string;
  /** Reads the finish reason from raw chunks, because some packages report the finish reason only when the connection closes. */
  readonly ending: RawEnding;
}

interface PartsReader extends EventReader {
  opened(headers: unknown): void;
}

export function createPartsReader(out: ModelChunk[], { settings, words, tools }: ReaderPorts): PartsReader {
  const parts = new MessageParts();
  const calls = new MessageCalls({ out, parts, names: new Set(tools.map(({ name }) => name)) });
  const answer = new Answer(out, new Map());
  const ending = new RawEnding();
  const kept = { references: [], answers: [], answerType: "" };
  const reading: Reading = { answer, settings, words, parts, calls, ending, ...kept };
  const reader = createEventReader(answer, {
    isFinished: () => (answer.finish ?? ending.finish) !== undefined,
    mayGoOn: () => !answer.isOver && ending.mayGoOn,
    read: (part) => readPart(part, reading),
    end: () => endReading(reading),
  });
  return Object.assign(reader, {
    opened: (headers: unknown) => void (reading.answerType = textOf(recordOf(headers)["content-type"])),
  });
}

function readPart(part: UnknownRecord, reading: Reading): void {
  const { parts, calls } = reading;
  switch (part.type) {
    case "text-delta":
    case "reasoning-delta":
      return readDelta(part, part.type, reading);
    case "text-start":
      return void parts.start("text", part.id, part.providerMetadata);
    case "reasoning-start":
      return void parts.start("reasoning", part.id, part.providerMetadata);
    case "text-end":
      return endText(part, reading);
    case "reasoning-end":
      return parts.end("reasoning", part.id, part.providerMetadata);
    case "tool-input-start":
      return calls.startInput(part);
    case "tool-input-delta":
      return calls.extendInput(part);
    case "tool-call":
      return calls.take(part);
    case "error":
      return fail(part.error, reading);
    case "finish":
      return readEnding(part, reading);
    default:
      return readRarePart(part, reading);
  }
}

function readRarePart(part: UnknownRecord, reading: Reading): void {
  const { parts, calls, references, answers, settings } = reading;
  switch (part.type) {
    case "file":
    case "reasoning-file": {
      const file = toFilePart(part);
      if (file !== undefined) parts.add(file, part.providerMetadata);
      return;
    }
    case "custom":
      return parts.add({ type: "custom", kind: textOf(part.kind) }, part.providerMetadata);
    case "tool-result":
      return addServiceResult(part, parts);
    case "source":
      references.push({ source: copyFields(part) });
      return;
    case "tool-approval-request":
      answers.push(answer(part, settings, calls));
      return;
    case "stream-start":
      return tellWarnings(part.warnings, settings);
    case "raw":
      return readRaw(part.rawValue, reading);
    default:
      return;
  }
}

/** Reads a raw event, because a package may overlook an error in an event that also has other fields, such as `choices` in OpenRouter's errors. */
function readRaw(event: unknown, reading: Reading): void {
  const { ending } = reading;
  ending.read(event);
  if (ending.error !== undefined) fail(ending.error, reading);
}

function readDelta(
  { id, delta, providerMetadata: metadata }: UnknownRecord,
  type: "text-delta" | "reasoning-delta",
  { parts, answer: { out } }: Reading,
): void {
  const text = textOf(delta);
  parts.extend(type === "text-delta" ? "text" : "reasoning", id, { text, metadata });
  if (text !== "") out.push({ type, text });
}

function endText({ id, providerMetadata, citations }: UnknownRecord, { parts, references }: Reading): void {
  parts.end("text", id, providerMetadata);
  if (Array.isArray(citations) && citations.length > 0) references.push(copyFields({ citations }));
}

/** Skips a preliminary result, because the final result follows. */
function addServiceResult(part: UnknownRecord, parts: MessageParts): void {
  if (part.preliminary === true) return;
  const { value = null } = copyFields({ value: part.result });
  const type = part.isError === true ? "error-json" : typeof value === "string" ? "text" : "json";
  const said = { type: "tool-result", toolCallId: textOf(part.toolCallId), toolName: textOf(part.toolName) };
  parts.add({ ...said, output: { type, value } }, part.providerMetadata);
}

function answer(part: UnknownRecord, { approveProviderTool }: ModelSettings, calls: MessageCalls): ApprovalAnswer {
  const [approvalId, toolCallId] = [textOf(part.approvalId), textOf(part.toolCallId)];
  const { toolName = "", input = null } = calls.ofService(part.toolCallId) ?? {};
  const approved = attempt(() => approveProviderTool?.({ approvalId, toolCallId, toolName, input })) === true;
  return approved ? { approvalId, approved } : { approvalId, approved, reason: "The call was not approved." };
}

function tellWarnings(warnings: unknown, { onWarning }: ModelSettings): void {
  if (onWarning === undefined || !Array.isArray(warnings)) return;
  for (const warning of warnings) {
    if (isRecord(warning)) attempt(() => onWarning({ ...warning, type: textOf(warning.type) }));
  }
}

/** Calls a function that the caller supplied. Its errors and rejections must not end the iteration or the process. */
function attempt<Result>(run: () => Result): Result | undefined {
  try {
    const result = run();
    Promise.resolve(result).then(undefined, () => {});
    return result;
  } catch {
    return undefined;
  }
}

/** True for the error that packages report for an event without data, which only keeps the connection open (github.com/caozhiyuan/copilot-api/pull/88). */
function isEmptyEvent(error: unknown): boolean {
  const { name, text } = recordOf(error);
  return name === "AI_JSONParseError" && typeof text === "string" && /^\s*(?::|$)/.test(text);
}

/**
 * Ignores an error after the finish reason, unless content may be lost: Gemini may send content after the finish reason, and a
 * package may fail to parse the event with the finish reason.
 */
function fail(error: unknown, reading: Reading): void {
  const { ending, answer } = reading;
  if (isEmptyEvent(error) || (ending.finish !== undefined && !ending.mayGoOn && !ending.isLast)) return;
  const found = toModelError(error);
  answer.failed = true;
  // Some packages report a body without events as an interrupted stream.
  const isLost = found.code === "stream-ended-early" && lacksStream(reading);
  answer.out.push({ type: "error", error: isLost ? noStreamError(reading.answerType) : found });
}

function readEnding({ usage: counts, finishReason }: UnknownRecord, reading: Reading): void {
  const { settings, words, answer, ending } = reading;
  answer.count(readModelUsage(counts, settings.model));
  const said = readFinish(finishReason, words);
  // AI SDK packages report the finish reason "error" for anything they cannot parse, even after the real reason, so an earlier reason is
  // kept.
  answer.finish = said?.reason === "error" ? (ending.finish ?? said) : said;
  answer.close();
}

function endReading(reading: Reading): void {
  const { answer, parts, calls, references, answers, answerType, ending } = reading;
  const { out, isOver } = answer;
  const finish = isOver ? answer.finish : ending.finish;
  if (finish === undefined) {
    if (lacksStream(reading)) out.push({ type: "error", error: noStreamError(answerType) });
    return;
  }
  if (!isOver) answer.count(ending.usage);
  calls.settle();
  const reason = toFinishReason(finish, { hasCalls: calls.hasOwn, hasAnswers: answers.length > 0 });
  // Does not store provider metadata for a refused or filtered message, because its content must not be sent back to the model.
  const isKept = reason !== "refusal" && reason !== "content-filter";
  if (isKept) answer.keep(toMetadataItems({ parts: parts.all(), references, answers }));
  out.push({ type: "finish", reason, raw: finish.raw });
}

/** True if nothing was read from a response that is not a stream. */
function lacksStream({ answerType, parts }: Reading): boolean {
  return parts.all().length === 0 && /^\s*(?:application\/json|text\/html)\b/i.test(answerType);
}

/** Creates the error for a response that is not a stream. The package has consumed the response body, so the message cannot quote it. */
function noStreamError(mediaType: string): ProviderError {
  const remedy =
    "Check the base URL and any proxy: the response may be an error page. If the service cannot stream, wrap the model with " +
    "`simulateStreamingMiddleware` of the AI SDK.";
  const message = `The service sent ${mediaType} instead of a stream. ${remedy}`;
  return providerError("server", message, { retryable: false });
}
