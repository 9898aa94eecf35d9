import { checkMessages } from "../shared/transcript.ts";
import {
  copyHistory,
  type FieldReader,
  HistoryDraft,
  type HistoryProvider,
  historyProviderCheck,
  readEach,
  type ReadHistory,
} from "../shared/history/read-history.ts";
import { findLostMessages, keepFitting, type LostContent } from "../shared/history/find-lost.ts";
import type { AssistantMessage, ContentPart, Message } from "../core/index.ts";
import { checkFields, type Checks, is, isRecord, listOf } from "../core/kit.ts";
import { readOwnItems } from "../shared/adapters/sdk-provider.ts";
import { toWellFormed } from "../shared/adapters/well-formed.ts";
import type { UnknownRecord } from "../shared/guards.ts";
import { chatMedia, createMessageConverter } from "./chat-body.ts";
import { createChatWriter, type HistoryOwner, readChatMessages, readParts } from "./read-chat-history.ts";
import { createItemWriter, readContent, readResponsesItems } from "./read-responses-history.ts";
import { createInputConverter, inputMedia } from "./responses-body.ts";
import { readResponsesMetadata } from "./responses-metadata.ts";

/** The API whose format a history has: Chat Completions or Responses. */
export type OpenAIMessagesApi = "chat" | "responses";

/** The options for `fromOpenAIMessages` and `toOpenAIMessages`. */
export interface OpenAIHistoryOptions {
  /** The API whose format the history has. By default, `fromOpenAIMessages` detects the API, and `toOpenAIMessages` uses "chat". */
  readonly api?: OpenAIMessagesApi | undefined;
  /**
   * The provider whose model wrote the history: the provider itself, or its `id` and `model`. Content that only this model accepts, such as
   * encrypted reasoning, is kept as provider metadata. Default: no provider. Content of this kind is then omitted and listed in `lost`.
   */
  readonly provider?: HistoryProvider | undefined;
  /** Set to true if the service stored the responses in the history, and the provider has `store: true`. Default false. */
  readonly store?: boolean | undefined;
}

/** The options for `toOpenAIMessages`. */
export interface ToOpenAIOptions extends OpenAIHistoryOptions {
  /** The system text. It becomes the first message. Default none. */
  readonly system?: string | undefined;
}

/** A message in the Chat Completions API. It can be assigned to `ChatCompletionMessageParam` from the `openai` package. */
export type OpenAIMessage =
  | { role: "system"; content: string }
  | { role: "user"; content: string | OpenAIMessagePart[] }
  | { role: "assistant"; content: string | null; tool_calls?: OpenAIMessageCall[] }
  | { role: "tool"; tool_call_id: string; content: string };

/** A part of a user message in the Chat Completions API. */
export type OpenAIMessagePart =
  | { type: "text"; text: string }
  | { type: "image_url"; image_url: { url: string } }
  | { type: "input_audio"; input_audio: { data: string; format: "wav" | "mp3" } }
  | { type: "file"; file: { filename: string; file_data: string } };

/** A tool call in the Chat Completions API. `arguments` is JSON text. */
export interface OpenAIMessageCall {
  id: string;
  type: "function";
  function: { name: string; arguments: string };
}

/** A transcript in one of OpenAI's formats. */
export interface OpenAIHistory<Item> {
  /** The messages of a Chat request, or the `input` of a Responses request. */
  readonly messages: Item[];
  /** Content that this format cannot express. Empty if `fromOpenAIMessages` can restore the transcript. */
  readonly lost: readonly LostContent[];
}

const checks: Checks<OpenAIHistoryOptions> = {
  api: ["chat", "responses"],
  provider: historyProviderCheck,
  store: is.flag,
};

/**
 * Converts an OpenAI history to a transcript: messages of the Chat Completions API, or input and output items of the Responses API. System
 * and developer messages at the beginning become `system`. Later system and developer messages become pinned user messages. A call without
 * a result gets a `not-run` result, and a result without a call is omitted. The ids and states of items are dropped, and `lost` does not
 * list them.
 *
 * Throws LoopError "invalid-messages" if a field has the wrong type. The error message names the path of the field. Throws
 * "invalid-option" or "unknown-option" if an option is invalid.
 *
 * @example
 * const { messages, system, lost } = fromOpenAIMessages(saved, { provider });
 * await runToolLoop({ provider, system, messages: [...messages, question] });
 */
export function fromOpenAIMessages(messages: readonly object[], options: OpenAIHistoryOptions = {}): ReadHistory {
  checkFields("options", options, checks);
  const items = readEach(copyHistory(messages));
  for (const item of items) refuseOtherFormat(item);
  const api = options.api ?? recognizeApi(items);
  const owner = toOwner(options);
  const { draft, system } = readHistory(items, api, owner);
  return draft.finish(api === "chat" ? createChatWriter(owner) : createItemWriter(owner), system);
}

function toOwner({ provider, store = false }: OpenAIHistoryOptions): HistoryOwner {
  return { id: provider?.id ?? "openai", model: provider?.model, store };
}

/** Throws for a message in another library's format, because its parts or calls would otherwise be dropped silently. */
function refuseOtherFormat(item: FieldReader): void {
  const { parts, content } = item.fields;
  if (Array.isArray(parts)) throw item.wrong("parts", "absent. For AI SDK messages, use fromUIMessages");
  const blocks = listOf(content).filter(isRecord);
  if (blocks.some(({ type }) => type === "tool_use" || type === "tool_result"))
    throw item.wrong("content", "OpenAI content. For Anthropic messages, use fromAnthropicMessages");
}

function recognizeApi(items: readonly FieldReader[]): OpenAIMessagesApi {
  return items.some(({ fields }) => isResponsesItem(fields)) ? "responses" : "chat";
}

const contentTypes: ReadonlySet<unknown> = new Set(["input_text", "input_image", "input_file", "output_text"]);

function isResponsesItem({ type, content }: UnknownRecord): boolean {
  return typeof type === "string" || listOf(content).some((part) => isRecord(part) && contentTypes.has(part.type));
}

interface Read {
  readonly draft: HistoryDraft;
  readonly system: string;
}

function readHistory(items: readonly FieldReader[], api: OpenAIMessagesApi, owner: HistoryOwner): Read {
  const draft = new HistoryDraft();
  const end = items.findIndex(({ fields }) => fields.role !== "system" && fields.role !== "developer");
  const leading = items.slice(0, end === -1 ? items.length : end);
  const system = leading.map((item, position) => readSystem(item, { position, api, draft })).join("\n\n");
  const rest = items.slice(leading.length);
  if (api === "chat") readChatMessages(rest, draft, owner);
  else readResponsesItems(rest, draft, owner);
  return { draft, system };
}

interface SystemPlace {
  readonly position: number;
  readonly api: OpenAIMessagesApi;
  readonly draft: HistoryDraft;
}

function readSystem(item: FieldReader, { position, api, draft }: SystemPlace): string {
  const { index } = item.piece;
  const given = api === "chat" ? readParts(item) : readContent(item);
  const parts: readonly ContentPart[] = typeof given === "string" ? [{ type: "text", text: given }] : given;
  const hasOthers = Object.keys(item.fields).some((name) => name !== "role" && name !== "content" && name !== "type");
  if (position > 0 || parts.length > 1 || hasOthers) draft.note({ index, field: "", reason: "changed" });
  else if (item.fields.role !== "system") draft.note({ index, field: "role", reason: "changed" });
  return parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}

/**
 * Converts a transcript to messages of the Chat Completions API, or to input items of the Responses API: the same messages or items that
 * `openaiChat` or `openaiResponses` would send. For a Responses history, pass your SDK's item type as the type argument:
 * `toOpenAIMessages<ResponseInputItem>(messages, { api: "responses" })`.
 *
 * Users' images and files that the API does not support are omitted. Throws LoopError "invalid-messages" if the transcript is
 * invalid, and "invalid-option" or "unknown-option" if an option is invalid.
 *
 * @example
 * const { messages, lost } = toOpenAIMessages(result.messages, { system });
 * await client.chat.completions.create({ model: "gpt-5", messages });
 */
export function toOpenAIMessages<Item extends object = OpenAIMessage>(
  messages: readonly Message[],
  options: ToOpenAIOptions = {},
): OpenAIHistory<Item> {
  checkFields("options", options, { ...checks, system: is.text });
  const { api = "chat", system = "" } = options;
  const owner = toOwner(options);
  const wire = api === "chat" ? chatWire(owner) : responsesWire(owner);
  const checked = messages.length === 0 ? [] : checkMessages(messages).messages;
  const written = wire.write(toWellFormed(checked));
  const lost = findLostMessages(checked, {
    ...wire,
    read: (items) => readHistory(readEach(items), api, owner).draft.finish(undefined).messages,
  });
  const first = system === "" ? [] : [{ role: "system", content: toWellFormed(system) }];
  return { messages: [...first, ...written] as Item[], lost };
}

interface Wire {
  readonly joins: readonly Message["role"][];
  write(messages: readonly Message[]): readonly object[];
  keepsMetadata(message: AssistantMessage): boolean;
}

function chatWire({ id, model = "" }: HistoryOwner): Wire {
  const toWireCallId = (callId: string): string => callId;
  const convert = createMessageConverter({ id, model, echoReasoning: undefined, toolResultMedia: "user-message", toWireCallId });
  return {
    joins: [],
    write: (messages) => keepFitting(messages, chatMedia).flatMap(convert),
    keepsMetadata: ({ providerMetadata }) => readOwnItems(providerMetadata, { id, model }) !== undefined,
  };
}

function responsesWire({ id, model = "", store }: HistoryOwner): Wire {
  const toInput = createInputConverter({ id, model, store, customTools: new Map(), toolResultMedia: "tool-message" });
  return {
    joins: ["assistant"],
    write: (messages) => toInput(keepFitting(messages, inputMedia)),
    keepsMetadata: (message) => readResponsesMetadata(message, { id, model, store }) !== undefined,
  };
}
