import {
  assertNever,
  type AssistantMessage,
  type ContentPart,
  groupByRole,
  hasSucceeded,
  idRules,
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
  type ToolResultPart,
  toWireId,
  toWireName,
  writeToolMedia,
  writeUserMedia,
} from "../core/provider-kit.ts";
import { withoutUnusedFields } from "../services/plan-tools.ts";
import type { createMarker, JoinedMessage, MarkableRequest, MarkedRequest } from "./cache-marks.ts";
import {
  type CompactionEdit,
  type MessagesRequestBody,
  type MessagesSettings,
  planOutput,
  toConfigField,
  type WireBlock,
  type WireMessage,
} from "./messages-options.ts";
import { closeMessage, invalidJsonKey, readMetadata, toContainerField } from "./provider-metadata.ts";

/**
 * Omits blank texts, because the service rejects them. Throws a ProviderError `bad-request` for content that the API does not
 * support.
 */
export function toUserBlocks(content: string | readonly ContentPart[], place: Omit<MediaPlace, "part">): readonly WireBlock[] {
  if (typeof content === "string") return toTextBlocks(content);
  return content.flatMap((part, index) =>
    part.type === "text" ? toTextBlocks(part.text) : [writeUserMedia(part, blockMedia, { ...place, part: index })],
  );
}

export function toResultBlocks(content: readonly ContentPart[]): readonly WireBlock[] {
  return content.flatMap((part) => {
    const written = part.type === "text" ? part.text : writeToolMedia(part, blockMedia);
    return typeof written === "string" ? toTextBlocks(written) : [written];
  });
}

function toTextBlocks(text: string): readonly WireBlock[] {
  return text.trim() === "" ? [] : [{ type: "text", text }];
}

/** The image types that the service accepts. The service accepts SVG only as text. */
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

function toBlockType({ kind, mediaType }: ReadableMedia): "image" | "document" | undefined {
  if (mediaType === "application/pdf") return "document";
  return imageTypes.has(mediaType) || (kind === "url" && mediaType === "image/*") ? "image" : undefined;
}

function toSource(media: ReadableMedia): WireBlock["source"] {
  if (media.kind === "url") return isOnWeb(media) ? { type: "url", url: media.url } : undefined;
  return { type: "base64", media_type: media.mediaType, data: toBase64(media) };
}

/** Decodes base64 data, because the API accepts text documents only as plain text. */
function toTextDocument(media: ReadableMedia): WireBlock | undefined {
  const data = readText(media);
  return data === undefined ? undefined : { type: "document", source: { type: "text", media_type: "text/plain", data } };
}

interface ConvertedMessage {
  readonly wire: WireMessage;
  /** Replaces `wire` at the end of a request, because only the final message may have unfinished calls to server tools. */
  readonly asLast: WireMessage;
  readonly isRebuilt: boolean;
}

type MessageConverter = (message: Message, index: number) => ConvertedMessage;

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
      return toUserMessage(message.results.map(toToolResult));
    default:
      return assertNever(message);
  }
}

function toUserMessage(content: readonly WireBlock[]): ConvertedMessage {
  const wire: WireMessage = { role: "user", content };
  return { wire, asLast: wire, isRebuilt: false };
}

function convertAssistantMessage(message: AssistantMessage, reader: MetadataReader): ConvertedMessage {
  const blocks = readMetadata(message, reader);
  const asLast: WireMessage = { role: "assistant", content: blocks ?? rebuildMessage(message) };
  const closed = closeMessage(asLast.content);
  const wire = closed === asLast.content ? asLast : { ...asLast, content: closed };
  return { wire, asLast, isRebuilt: blocks === undefined };
}

/**
 * Keeps only text and calls, because the service rejects reasoning without a signature. Removes whitespace at the end of the text,
 * which the service rejects in the final message.
 */
function rebuildMessage(message: AssistantMessage): readonly WireBlock[] {
  const { text, calls } = readAssistantMessage(message);
  return [...toTextBlocks(text.trimEnd()), ...calls.map(toToolUse)];
}

function toToolUse({ callId, name, args }: ToolCallPart): WireBlock {
  return { type: "tool_use", id: toWireId(callId, idRules.anthropic), name: toWireName(name), input: toWireInput(args) };
}

/** The API accepts only objects, but the arguments of an invalid call may be any value. */
function toWireInput(args: Json): Json {
  return isRecord(args) ? args : { [invalidJsonKey]: args };
}

function toToolResult(part: ToolResultPart): WireBlock {
  const id = { type: "tool_result", tool_use_id: toWireId(part.callId, idRules.anthropic) } as const;
  const content = toResultContent(part);
  const isError = !hasSucceeded(part) && !(Array.isArray(content) && content.some(isNoText));
  return { ...id, ...(content === undefined ? {} : { content }), ...(isError ? { is_error: true } : {}) };
}

/** An error result may have only texts (github.com/vellum-ai/vellum-assistant/issues/18387). Its text says that the tool failed. */
function isNoText({ type }: WireBlock): boolean {
  return type !== "text";
}

function toResultContent({ result, content = [] }: ToolResultPart): string | readonly WireBlock[] | undefined {
  const text = typeof result === "string" ? result : JSON.stringify(result);
  const more = toResultBlocks(content);
  if (more.length === 0) return text === "" ? undefined : text;
  return [...toTextBlocks(text), ...more];
}

interface BodyPorts {
  readonly settings: MessagesSettings;
  readonly convert: MessageConverter;
  readonly mark: ReturnType<typeof createMarker> | undefined;
  /** The current time in milliseconds since 1970. Used to detect expired containers. */
  readonly now: number;
}

/** `settings.extra` of the request may replace every field except `stream`. */
export function buildMessagesBody(request: ModelRequest, ports: BodyPorts): MessagesRequestBody {
  const { messages, settings: model = {} } = request;
  const { settings, mark } = ports;
  const { system: text, schema } = planOutput(request, settings.serverTools);
  const { system, tools, messages: wire } = (mark ?? withoutMarks)(toMarkable(request, text, ports));
  const body = {
    model: settings.model,
    max_tokens: model.maxOutputTokens ?? settings.maxTokens,
    ...(system === undefined ? {} : { system }),
    ...(tools.length === 0 ? {} : { tools, ...toChoiceField(request.toolChoice) }),
    messages: wire,
    ...toThinkingField(messages, ports),
    ...toCompactionField(request, settings.compaction),
    ...toSettingFields(model),
    // The spread keeps a key "__proto__" in `extra` as a plain field. An assignment would set the prototype.
    ...model.extra,
    ...toConfigField(schema, request),
    ...toContainerField(request, { id: settings.id, now: ports.now }),
    stream: true,
  } as const;
  return withoutUnusedFields(body, ["tool_choice"]);
}

function toMarkable(
  { tools, messages, settings: model }: ModelRequest,
  system: string | undefined,
  { settings, convert }: BodyPorts,
): MarkableRequest {
  return {
    system: system === undefined || system.trim() === "" ? undefined : system,
    tools: toWireTools(tools, settings),
    joined: joinMessages(messages, convert),
    extra: model?.extra ?? {},
  };
}

function withoutMarks({ system, tools, joined }: MarkableRequest): MarkedRequest {
  return { system, tools, messages: joined.map(({ message }) => message) };
}

/**
 * The message that is sent first if a conversation starts with an assistant message, because the service requires a user message
 * at the start.
 */
const opening: JoinedMessage = {
  message: { role: "user", content: [{ type: "text", text: "(The conversation begins.)" }] },
  parts: [],
};

export function joinMessages(messages: readonly Message[], convert: MessageConverter): readonly JoinedMessage[] {
  const wire = messages.map((message, position) => {
    const { wire: followed, asLast } = convert(message, position);
    return position === messages.length - 1 ? asLast : followed;
  });
  const joined = groupByRole(wire.filter(({ content }) => content.length > 0)).map(join);
  return joined[0]?.message.role === "assistant" ? [opening, ...joined] : joined;
}

function join(parts: readonly [WireMessage, ...WireMessage[]]): JoinedMessage {
  const [first] = parts;
  if (parts.length === 1) return { message: first, parts };
  return { message: { role: first.role, content: parts.flatMap((message) => message.content) }, parts };
}

/** Puts the search tool at the end. The final tool may get a cache mark, and the service rejects a mark on a deferred tool. */
function toWireTools(
  tools: readonly ToolDefinition[],
  { serverTools, toolSearch }: Pick<MessagesSettings, "serverTools" | "toolSearch">,
): readonly object[] {
  if (toolSearch === undefined || !tools.some(isDeferred)) return [...tools.map(toWireTool), ...serverTools];
  const wire = tools.map((tool) => (isDeferred(tool) ? toDeferredTool(tool) : toWireTool(tool)));
  return [...wire, ...serverTools, { type: `tool_search_tool_${toolSearch}_20251119`, name: `tool_search_tool_${toolSearch}` }];
}

function isDeferred({ deferred }: ToolDefinition): boolean {
  return deferred === true;
}

const toWireTool = memoize(({ name, description, inputSchema }: ToolDefinition): object => ({
  name,
  description,
  input_schema: inputSchema,
}));

const toDeferredTool = memoize((tool: ToolDefinition): object => ({ ...toWireTool(tool), defer_loading: true }));

function toChoiceField(choice: ToolChoice | undefined): object {
  if (choice === undefined) return {};
  if (typeof choice === "object") return { tool_choice: { type: "tool", name: choice.name } };
  return { tool_choice: { type: choice === "required" ? "any" : choice } };
}

/** The API has no field for `seed`, and rejects unknown fields. */
function toSettingFields({ temperature, topP, stopSequences }: ModelSettings): object {
  return {
    ...(temperature === undefined ? {} : { temperature }),
    ...(topP === undefined ? {} : { top_p: topP }),
    ...(stopSequences === undefined || stopSequences.length === 0 ? {} : { stop_sequences: stopSequences }),
  };
}

/**
 * With a thinking budget, the service rejects tool results if the assistant message before them does not begin with thinking. An
 * assistant message from another model has no thinking. If the request ends with the results of its calls, the request is sent
 * without `thinking`.
 */
function toThinkingField(messages: readonly Message[], { settings, convert }: BodyPorts): object {
  const { thinking } = settings;
  if (thinking === undefined) return {};
  let position = messages.length - 1;
  while (messages[position]?.role === "user") position -= 1;
  const before = messages[position - 1];
  const goesOn = messages[position]?.role === "tool" && before !== undefined && convert(before, position - 1).isRebuilt;
  return thinking.type === "enabled" && goesOn ? {} : { thinking };
}

/** The smallest trigger that the service accepts, in tokens. */
const smallestTrigger = 50_000;

function toCompactionField(
  { compactAt }: ModelRequest,
  edit: CompactionEdit | undefined,
): { readonly context_management?: Json } {
  if (compactAt === undefined || edit === undefined) return {};
  const trigger = { type: "input_tokens", value: Math.max(smallestTrigger, compactAt) };
  return { context_management: { edits: [{ type: "compact_20260112", trigger, ...edit }] } };
}
