import { assertNever, type UnknownRecord } from "../shared/guards.ts";
import type {
  AssistantMessage,
  ContentPart,
  Json,
  Message,
  ModelRequest,
  ToolDefinition,
  ToolResultPart,
} from "../core/index.ts";
import { continueText, idRules, openingText, toWireId } from "../shared/adapters/wire-names.ts";
import { groupByRole, type MetadataReader, toSettingFields } from "../shared/adapters/sdk-provider.ts";
import { hasSucceeded, isRecord, memoize, readAssistantMessage, toBase64, type ToolCallPart, writeMedia } from "../core/kit.ts";
import type { MediaForms } from "../shared/adapters/write-media.ts";
import type { RequestChange } from "../core/types/provider.ts";
import { isOnWeb, isTextType, type ReadableMedia, readText } from "../shared/media-source.ts";
import { takeStart } from "../shared/texts.ts";
import { toWireName } from "../shared/tool-arguments.ts";
import { toObjectSchema } from "../shared/adapters/object-schema.ts";
import { withOldTools, withoutUnusedFields } from "../services/plan-tools.ts";
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
import { fitRequest } from "./fit-request.ts";
import { type KeptThinking, leftOut } from "./kept-thinking.ts";
import { invalidJsonKey, isThinkingBlock, readMetadata, toContainerField } from "./provider-metadata.ts";
import { type Accepted, betaBlocks, removeRefusedBlocks } from "./refused-blocks.ts";

/** Puts the search tool last. The last tool may get a cache mark, which the service rejects on a deferred tool. */
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
  input_schema: toObjectSchema(inputSchema),
}));

const toDeferredTool = memoize((tool: ToolDefinition): object => ({ ...toWireTool(tool), defer_loading: true }));

/** Finds the tools that a request declares. Calls to some server tools, such as code execution, use names other than the declared one. */
function findDeclared(tools: readonly object[], extra: UnknownRecord): Pick<Accepted, "declares" | "hasTool"> {
  const names = tools.map((tool) => ("name" in tool ? tool.name : undefined));
  const types = tools.flatMap((tool) => ("type" in tool ? String(tool.type) : []));
  const isOpen = extra["tools"] !== undefined || extra["mcp_servers"] !== undefined;
  const searches = isOpen || types.some((type) => type.startsWith("tool_search"));
  return {
    declares: (name) => (name.startsWith("tool_search") ? searches : isOpen || types.length > 0),
    hasTool: (name) => isOpen || names.includes(name),
  };
}

/** Converts content to blocks. Omits blank text, because the service rejects it. */
export function toBlocks(content: string | readonly ContentPart[]): readonly WireBlock[] {
  if (typeof content === "string") return toTextBlocks(content);
  return content.flatMap((part) => {
    const written = part.type === "text" ? part.text : writeMedia(part, blockMedia);
    return typeof written === "string" ? toTextBlocks(written) : [written];
  });
}

function toTextBlocks(text: string): readonly WireBlock[] {
  return text.trim() === "" ? [] : [{ type: "text", text }];
}

/** The image types that the service accepts. The service accepts SVG only as text. */
const imageTypes: ReadonlySet<string> = new Set(["image/jpeg", "image/png", "image/gif", "image/webp"]);

export const blockMedia: MediaForms<WireBlock> = {
  takes: "JPEG, PNG, GIF and WebP images and PDFs, as base64 or https: or http: URLs, and UTF-8 text files as base64",
  write(media) {
    if (isTextType(media.mediaType)) return toTextDocument(media);
    const type = toBlockType(media);
    const source = toSource(media);
    return type === undefined || source === undefined
      ? undefined
      : { type, source, ...(type === "document" ? toTitle(media) : {}) };
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

/** Decodes base64 data, because the API accepts text documents only as unencoded text. */
function toTextDocument(media: ReadableMedia): WireBlock | undefined {
  const data = readText(media);
  if (data === undefined) return undefined;
  return { type: "document", source: { type: "text", media_type: "text/plain", data }, ...toTitle(media) };
}

/** The longest document title that the API accepts. */
const maxTitleLength = 500;

function toTitle({ filename }: ReadableMedia): { readonly title?: string } {
  return filename === undefined ? {} : { title: takeStart(filename, maxTitleLength) };
}

interface ConvertedMessage {
  readonly wire: WireMessage;
  readonly isRebuilt: boolean;
}

type MessageConverter = (message: Message) => ConvertedMessage;

export function createMessageConverter(reader: MetadataReader): MessageConverter {
  return memoize((message: Message) => convert(message, reader));
}

function convert(message: Message, reader: MetadataReader): ConvertedMessage {
  switch (message.role) {
    case "user":
      return toUserMessage(toBlocks(message.content));
    case "assistant":
      return convertAssistantMessage(message, reader);
    case "tool":
      return toUserMessage(message.results.map(toToolResult));
    default:
      return assertNever(message);
  }
}

function toUserMessage(content: readonly WireBlock[]): ConvertedMessage {
  return { wire: { role: "user", content }, isRebuilt: false };
}

function convertAssistantMessage(message: AssistantMessage, reader: MetadataReader): ConvertedMessage {
  const blocks = readMetadata(message, reader);
  return { wire: { role: "assistant", content: blocks ?? rebuildMessage(message) }, isRebuilt: blocks === undefined };
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

/** Returns a call's arguments as an object, because the API accepts nothing else. An invalid call's arguments may be any value. */
function toWireInput(args: Json): Json {
  return isRecord(args) ? args : { [invalidJsonKey]: args };
}

function toToolResult(part: ToolResultPart): WireBlock {
  const id = { type: "tool_result", tool_use_id: toWireId(part.callId, idRules.anthropic) } as const;
  const content = toResultContent(part);
  const isError = !hasSucceeded(part) && !(Array.isArray(content) && content.some(isNoText));
  return { ...id, ...(content === undefined ? {} : { content }), ...(isError ? { is_error: true } : {}) };
}

/**
 * True for any block that is not text. An error result may contain only text (github.com/vellum-ai/vellum-assistant/issues/18387), so a
 * result with files is not marked as an error; its text says that the tool failed.
 */
function isNoText({ type }: WireBlock): boolean {
  return type !== "text";
}

function toResultContent({ result, content = [] }: ToolResultPart): string | readonly WireBlock[] | undefined {
  const text = typeof result === "string" ? result : JSON.stringify(result);
  const more = toBlocks(content);
  if (more.length === 0) return text === "" ? undefined : text;
  return [...toTextBlocks(text), ...more];
}

export interface BodyPorts {
  readonly settings: MessagesSettings;
  readonly convert: MessageConverter;
  readonly mark: ReturnType<typeof createMarker> | undefined;
  readonly kept: KeptThinking;
  /** The current time in milliseconds since 1970. Used to detect expired containers. */
  readonly now: number;
  /** True to ask the service to drop thinking that no longer fits the request. */
  readonly dropsUnfit: boolean;
  /** True if the service refuses the `thinking.display` field. */
  readonly refusesDisplay: boolean;
  report(change: RequestChange): void;
}

/** Builds the request body. The request's `settings.extra` can override any field except `stream`. */
export function buildMessagesBody(given: ModelRequest, ports: BodyPorts): MessagesRequestBody {
  const { settings, mark } = ports;
  const request = withOldTools(given, settings.quirks);
  const { settings: model = {} } = request;
  const { fields, instruction, asksToDrop } = fitRequest(request, { ...ports, lacksThinking: lacksThinking(request, ports) });
  const { tool_choice: choice, ...fitted } = fields;
  const { system: text, schema } = planOutput(request, settings.serverTools);
  const asked = withTail(request, instruction, ports);
  const { system, tools, messages: wire } = (mark ?? withoutMarks)(toMarkable(asked, text, { ...ports, asksToDrop }));
  const body = {
    model: settings.model,
    ...(system === undefined ? {} : { system }),
    ...(tools.length === 0 ? {} : { tools, ...(choice === undefined ? {} : { tool_choice: choice }) }),
    messages: wire,
    ...fitted,
    ...toCompactionField(request, settings.compaction),
    // Leaves out `seed`, because the API has no such field and rejects unknown fields.
    ...toSettingFields(model, { stopSequences: "stop_sequences" }),
    // A spread copies a "__proto__" key as a plain field, whereas an assignment would set the prototype.
    ...model.extra,
    ...toConfigField(schema, request),
    ...toContainerField(request, { id: settings.id, now: ports.now }),
    stream: true,
  } as const;
  return withoutUnusedFields(body, ["tool_choice"]);
}

/**
 * Adds a user message that asks for a forced call, or that follows an assistant message which the model refuses to continue. If a message
 * ends with a summary or a server tool block, the service has paused it and will continue it, so no message is added.
 */
function withTail(request: ModelRequest, instruction: string | undefined, { settings, convert }: BodyPorts): ModelRequest {
  const { messages } = request;
  const last = messages[messages.length - 1];
  const toEnd = (message: Message): WireBlock | undefined =>
    removeRefusedBlocks([message], [convert(message).wire], toAccepted(request, settings))[0]?.content.at(-1);
  const isRefused = (end: WireBlock | undefined): boolean =>
    settings.facts?.prefill === false && (end === undefined || end.type === "text" || isThinkingBlock(end));
  const content = last?.role !== "assistant" ? instruction : isRefused(toEnd(last)) ? continueText : undefined;
  return content === undefined ? request : { ...request, messages: [...messages, { role: "user", content }] };
}

function toMarkable(
  request: ModelRequest,
  text: string | undefined,
  ports: BodyPorts & { readonly asksToDrop: boolean },
): MarkableRequest {
  const system = text === undefined || text.trim() === "" ? undefined : text;
  const tools = toWireTools(request.tools, ports.settings);
  const extra = request.settings?.extra ?? {};
  const wire = toWireMessages(request, { system, tools }, ports);
  return { system, tools, joined: joinMessages(wire), extra };
}

function toWireMessages(
  request: ModelRequest,
  { system, tools }: Pick<MarkableRequest, "system" | "tools">,
  { settings, convert, kept, asksToDrop, report }: BodyPorts & { readonly asksToDrop: boolean },
): readonly WireMessage[] {
  const { messages } = request;
  const converted = messages.map((message) => convert(message).wire);
  const wire = removeRefusedBlocks(messages, converted, toAccepted(request, settings));
  if (settings.facts?.checksPrefix === true && !asksToDrop && kept.compare(request, { system, tools, wire })) report(leftOut);
  return wire.map((message, position) => kept.strip(message, messages[position]));
}

function toAccepted({ tools, settings: { extra = {} } = {} }: ModelRequest, settings: MessagesSettings): Accepted {
  const betas = [...settings.betas, ...settings.clientBetas];
  const takes: Accepted["takes"] = (type) => betas.some((beta) => beta.startsWith(betaBlocks[type]));
  return { ...findDeclared(toWireTools(tools, settings), extra), takes };
}

function withoutMarks({ system, tools, joined }: MarkableRequest): MarkedRequest {
  return { system, tools, messages: joined.map(({ message }) => message) };
}

/**
 * The message that is sent first if a conversation starts with an assistant message, because the service requires a user message
 * at the start.
 */
const opening: JoinedMessage = {
  message: { role: "user", content: [{ type: "text", text: openingText }] },
  parts: [],
};

export function joinMessages(wire: readonly WireMessage[]): readonly JoinedMessage[] {
  const joined = groupByRole(wire.filter(({ content }) => content.length > 0)).map(join);
  return joined[0]?.message.role === "assistant" ? [opening, ...joined] : joined;
}

function join(parts: readonly [WireMessage, ...WireMessage[]]): JoinedMessage {
  const [first] = parts;
  if (parts.length === 1) return { message: first, parts };
  return { message: { role: first.role, content: parts.flatMap((message) => message.content) }, parts };
}

/**
 * True if the request ends with tool results for a message that does not begin with thinking, such as a message from another model or one
 * with a forced call. With a thinking budget, the service would reject these results, so the request is sent without `thinking`.
 */
function lacksThinking({ messages }: ModelRequest, { convert, kept }: BodyPorts): boolean {
  // Skips user messages, and blank messages, which are never sent.
  const isPassed = (message: Message | undefined): boolean =>
    message !== undefined && (message.role === "user" || convert(message).wire.content.length === 0);
  let position = messages.length - 1;
  while (isPassed(messages[position])) position -= 1;
  const last = messages[position - 1];
  if (messages[position]?.role !== "tool" || last === undefined) return false;
  let first = position - 1;
  while (first > 0 && messages[first - 1]?.role !== "user") first -= 1;
  const opener = messages[first] ?? last;
  const [block] = kept.strip(convert(opener).wire, opener).content;
  return convert(last).isRebuilt || !isThinkingBlock(block);
}

/** The smallest compaction threshold that the service accepts, in tokens. */
const smallestTrigger = 50_000;

function toCompactionField(
  { compactAt }: ModelRequest,
  edit: CompactionEdit | undefined,
): { readonly context_management?: Json } {
  if (compactAt === undefined || edit === undefined) return {};
  const trigger = { type: "input_tokens", value: Math.max(smallestTrigger, compactAt) };
  return { context_management: { edits: [{ type: "compact_20260112", trigger, ...edit }] } };
}
