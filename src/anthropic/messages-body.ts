// Builds the body of a Messages request. Each message and tool is converted once and then cached.

import {
  assertNever,
  type AssistantMessage,
  type ContentPart,
  groupByRole,
  hasSucceeded,
  isOnWeb,
  isRecord,
  isTextType,
  type Json,
  type MediaForms,
  type MediaPlace,
  memoize,
  type Message,
  type MetadataReader,
  type ModelRequest,
  type ModelSettings,
  type ReadableMedia,
  readText,
  readAssistantMessage,
  toBase64,
  type ToolCallPart,
  type ToolChoice,
  type ToolDefinition,
  type ToolMessage,
  type ToolResultPart,
  toWireName,
  writeToolMedia,
  writeUserMedia,
} from "../core/provider-kit.ts";
import type {
  CacheControl,
  MessagesRequestBody,
  MessagesSettings,
  WireBlock,
  WireContainer,
  WireMessage,
} from "./messages-options.ts";
import { closeMessage, invalidJsonKey, readMetadata, toWireId } from "./provider-metadata.ts";

/**
 * Converts the content of a user message. Blank texts are omitted, because the service rejects them. Throws a ProviderError
 * `bad-request` for content that the API does not support.
 */
export function toUserBlocks(content: string | readonly ContentPart[], place: Omit<MediaPlace, "part">): readonly WireBlock[] {
  if (typeof content === "string") return toTextBlocks(content);
  return content.flatMap((part, index) =>
    part.type === "text" ? toTextBlocks(part.text) : [writeUserMedia(part, blockMedia, { ...place, part: index })],
  );
}

/** Converts the content of a tool result. A note for the model replaces images and files that the API does not support. */
export function toResultBlocks(content: readonly ContentPart[]): readonly WireBlock[] {
  return content.flatMap((part) => {
    const written = part.type === "text" ? part.text : writeToolMedia(part, blockMedia);
    return typeof written === "string" ? toTextBlocks(written) : [written];
  });
}

/** Returns one block, or an empty list if the text is blank. */
function toTextBlocks(text: string): readonly WireBlock[] {
  return text.trim() === "" ? [] : [{ type: "text", text }];
}

/** The supported image types. SVG is missing, because the service accepts it only as text. */
const imageTypes: ReadonlySet<string> = new Set(["image/jpeg", "image/png", "image/gif", "image/webp"]);

const blockMedia: MediaForms<WireBlock> = {
  takes: "JPEG, PNG, GIF and WebP images and PDFs, as base64 or https: or http: URLs, and UTF-8 text files as base64",
  write(media) {
    if (isTextType(media.mediaType)) return toTextDocument(media);
    const type = toBlockType(media);
    const source = toSource(media);
    return type === undefined || source === undefined ? undefined : { type, source };
  },
};

/** Returns the block type for a media type. `image/*` is accepted only for URLs. */
function toBlockType({ kind, mediaType }: ReadableMedia): "image" | "document" | undefined {
  if (mediaType === "application/pdf") return "document";
  return imageTypes.has(mediaType) || (kind === "url" && mediaType === "image/*") ? "image" : undefined;
}

function toSource(media: ReadableMedia): WireBlock["source"] {
  if (media.kind === "url") return isOnWeb(media) ? { type: "url", url: media.url } : undefined;
  return { type: "base64", media_type: media.mediaType, data: toBase64(media) };
}

/** Converts a text file. The bytes are decoded, because the API does not accept text documents as base64. */
function toTextDocument(media: ReadableMedia): WireBlock | undefined {
  const data = readText(media);
  return data === undefined ? undefined : { type: "document", source: { type: "text", media_type: "text/plain", data } };
}

/** A message in the API's format, possibly joined from several messages with the same role. */
export interface JoinedMessage {
  readonly message: WireMessage;
  /** The number of blocks that come before the last of the joined messages; 0 if nothing was joined. */
  readonly stableBlocks: number;
}

/** Adds a cache mark to the last block or tool in a list. */
export function markLast<Item extends object>(items: readonly Item[], cacheControl: CacheControl): readonly Item[] {
  return markAt(items, items.length - 1, cacheControl);
}

/**
 * Adds cache marks to the last two user messages. If the last message was joined from several, its mark is placed before the blocks
 * of the last one. Those blocks may be context items, which move to another place in the next request. If they are user messages
 * instead, the marks of the next request include them.
 */
export function markMessages(joined: readonly JoinedMessage[], cacheControl: CacheControl): readonly WireMessage[] {
  const messages = joined.map(({ message }) => message);
  let marks = 0;
  for (let position = joined.length - 1; position >= 0 && marks < 2; position -= 1) {
    const { message, stableBlocks } = joined[position] ?? {};
    if (message?.role !== "user") continue;
    const end = marks === 0 && stableBlocks !== undefined && stableBlocks > 0 ? stableBlocks : message.content.length;
    messages[position] = { ...message, content: markAt(message.content, end - 1, cacheControl) };
    marks += 1;
  }
  return messages;
}

function markAt<Item extends object>(items: readonly Item[], at: number, cacheControl: CacheControl): readonly Item[] {
  return items.map((item, position) => (position === at ? { ...item, cache_control: cacheControl } : item));
}

/** Converts a system text to a block with a cache mark. A plain string cannot have a mark. */
export function markSystem(system: string, cacheControl: CacheControl): readonly WireBlock[] {
  return [{ type: "text", text: system, cache_control: cacheControl }];
}

/** A converted message. */
interface ConvertedMessage {
  /** The message to send if another message follows. Omitted from the request if its content is empty. */
  readonly wire: WireMessage;
  /** The message to send if it is the last of a request. A paused message is then sent back unchanged. */
  readonly asLast: WireMessage;
  /** True if an assistant message was rebuilt from its neutral parts, and therefore has no thinking. */
  readonly isRebuilt: boolean;
  readonly container: WireContainer | undefined;
}

/** Converts the message at `index`. Throws a ProviderError `bad-request` if a user message has content that the API does not support. */
type MessageConverter = (message: Message, index: number) => ConvertedMessage;

/** Makes a converter that caches its result for each message object. */
export function createMessageConverter(reader: MetadataReader): MessageConverter {
  return memoize((message: Message, index: number) => convert(message, index, reader));
}

function convert(message: Message, index: number, reader: MetadataReader): ConvertedMessage {
  switch (message.role) {
    case "user":
      return toUserMessage(toUserBlocks(message.content, { provider: reader.id, message: index }));
    case "assistant":
      return convertAssistantMessage(message, reader);
    case "tool":
      return toUserMessage(convertResults(message));
    default:
      return assertNever(message);
  }
}

function toUserMessage(content: readonly WireBlock[]): ConvertedMessage {
  const wire: WireMessage = { role: "user", content };
  return { wire, asLast: wire, isRebuilt: false, container: undefined };
}

function convertAssistantMessage(message: AssistantMessage, reader: MetadataReader): ConvertedMessage {
  const { blocks, container } = readMetadata(message, reader);
  const asLast: WireMessage = { role: "assistant", content: blocks ?? rebuildMessage(message) };
  const closed = closeMessage(asLast.content);
  const wire = closed === asLast.content ? asLast : { ...asLast, content: closed };
  return { wire, asLast, isRebuilt: blocks === undefined, container };
}

/**
 * Converts only text and calls, because the service rejects reasoning without its signature. Trailing spaces are removed, because
 * the service also rejects a last assistant message that ends with a space.
 */
function rebuildMessage(turn: AssistantMessage): readonly WireBlock[] {
  const { text, calls } = readAssistantMessage(turn);
  return [...toTextBlocks(text.trimEnd()), ...calls.map(toToolUse)];
}

function toToolUse({ callId, name, args }: ToolCallPart): WireBlock {
  return { type: "tool_use", id: toWireId(callId), name: toWireName(name), input: toWireInput(args) };
}

/** Returns arguments as an object, which the API requires. The arguments of a refused call may be any value. */
function toWireInput(args: Json): Json {
  return isRecord(args) ? args : { [invalidJsonKey]: args };
}

/** Converts all results of a tool message to blocks for one user message. */
function convertResults({ results }: ToolMessage): readonly WireBlock[] {
  return results.map(toToolResult);
}

function toToolResult(part: ToolResultPart): WireBlock {
  const id = { type: "tool_result", tool_use_id: toWireId(part.callId) } as const;
  const content = toResultContent(part);
  return { ...id, ...(content === undefined ? {} : { content }), ...(hasSucceeded(part) ? {} : { is_error: true }) };
}

/** Converts a result. Text stays a string, unless there are images or files; then it becomes a block. Empty text is omitted. */
function toResultContent({ result, content = [] }: ToolResultPart): Json | undefined {
  const text = typeof result === "string" ? result : JSON.stringify(result);
  const more = toResultBlocks(content);
  if (more.length === 0) return text === "" ? undefined : text;
  return [...toTextBlocks(text), ...more];
}

/** The values that `buildMessagesBody` needs. */
interface BodyPorts {
  readonly settings: MessagesSettings;
  readonly convert: MessageConverter;
  /** The current time in milliseconds since 1970, to detect expired containers. */
  readonly now: number;
}

/** Builds the body of a request. Fields in `settings.extra` of the request may replace every field except `stream`. */
export function buildMessagesBody(request: ModelRequest, ports: BodyPorts): MessagesRequestBody {
  const { system, messages, settings: model = {} } = request;
  const { settings, convert } = ports;
  const { cacheControl } = settings;
  const joined = joinMessages(messages, convert);
  return {
    model: settings.model,
    max_tokens: model.maxOutputTokens ?? settings.maxTokens,
    ...(system === undefined || system.trim() === ""
      ? {}
      : { system: cacheControl === undefined ? system : markSystem(system, cacheControl) }),
    ...toToolFields(request, settings),
    messages: cacheControl === undefined ? joined.map(({ message }) => message) : markMessages(joined, cacheControl),
    ...toThinkingField(messages, ports),
    ...toSettingFields(model),
    // The spread keeps a key "__proto__" in `extra` as a plain field. An assignment would set the prototype.
    ...model.extra,
    ...toContainerField(messages, model.extra?.container, ports),
    stream: true,
  };
}

/** Inserted before a conversation that starts with an assistant message. The service requires a user message first. */
const opening: JoinedMessage = {
  message: { role: "user", content: [{ type: "text", text: "(The conversation begins.)" }] },
  stableBlocks: 0,
};

/** Joins consecutive messages with the same role, for example tool results and the user message after them. */
function joinMessages(messages: readonly Message[], convert: MessageConverter): readonly JoinedMessage[] {
  const wire = messages.map((message, position) => {
    const { wire: followed, asLast } = convert(message, position);
    return position === messages.length - 1 ? asLast : followed;
  });
  const joined = groupByRole(wire.filter(({ content }) => content.length > 0)).map(join);
  return joined[0]?.message.role === "assistant" ? [opening, ...joined] : joined;
}

function join(group: readonly [WireMessage, ...WireMessage[]]): JoinedMessage {
  const [first] = group;
  const last = group[group.length - 1];
  if (last === undefined || group.length === 1) return { message: first, stableBlocks: 0 };
  const content = group.flatMap((message) => message.content);
  return { message: { role: first.role, content }, stableBlocks: content.length - last.content.length };
}

function toToolFields({ tools, toolChoice }: ModelRequest, { cacheControl, serverTools }: MessagesSettings): object {
  if (tools.length + serverTools.length === 0) return {};
  const wire: readonly object[] = [...tools.map(toWireTool), ...serverTools];
  return { tools: cacheControl === undefined ? wire : markLast(wire, cacheControl), ...toChoiceField(toolChoice) };
}

function toChoiceField(choice: ToolChoice | undefined): object {
  if (choice === undefined) return {};
  if (typeof choice === "object") return { tool_choice: { type: "tool", name: choice.name } };
  return { tool_choice: { type: choice === "required" ? "any" : choice } };
}

/** Omits `seed`: the API has no such field and rejects unknown ones. */
function toSettingFields({ temperature, topP, stopSequences }: ModelSettings): object {
  return {
    ...(temperature === undefined ? {} : { temperature }),
    ...(topP === undefined ? {} : { top_p: topP }),
    ...(stopSequences === undefined || stopSequences.length === 0 ? {} : { stop_sequences: stopSequences }),
  };
}

/**
 * Returns the `thinking` field. With a thinking budget, the service rejects tool results after an assistant message that does not
 * begin with thinking. A message from another model has no thinking, so the request after it disables thinking.
 */
function toThinkingField(messages: readonly Message[], { settings, convert }: BodyPorts): object {
  const { thinking } = settings;
  if (thinking === undefined) return {};
  let position = messages.length - 1;
  while (messages[position]?.role === "user") position -= 1;
  const turn = messages[position - 1];
  const goesOn = messages[position]?.role === "tool" && turn !== undefined && convert(turn, position - 1).isRebuilt;
  return thinking.type === "enabled" && goesOn ? {} : { thinking };
}

/** Returns the `container` field: the last container of the conversation, unless it has expired. Skills in `extra.container` are kept. */
function toContainerField(messages: readonly Message[], extra: Json | undefined, { convert, now }: BodyPorts): object {
  if (extra !== undefined && !(isRecord(extra) && extra.id === undefined)) return {};
  const container = lastContainer(messages, convert);
  if (container === undefined || Date.parse(container.expires_at ?? "") <= now) return {};
  return { container: extra === undefined ? container.id : { ...extra, id: container.id } };
}

function lastContainer(messages: readonly Message[], convert: MessageConverter): WireContainer | undefined {
  for (let position = messages.length - 1; position >= 0; position -= 1) {
    const message = messages[position];
    const container = message === undefined ? undefined : convert(message, position).container;
    if (container !== undefined) return container;
  }
  return undefined;
}

const toWireTool = memoize(({ name, description, inputSchema }: ToolDefinition): object => ({
  name,
  description,
  input_schema: inputSchema,
}));
