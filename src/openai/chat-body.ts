import { assertNever } from "../shared/guards.ts";
import type {
  AssistantMessage,
  ContentPart,
  Json,
  Message,
  ModelRequest,
  ToolChoice,
  ToolDefinition,
  ToolMessage,
} from "../core/index.ts";
import { isRecord, memoize, readAssistantMessage, toBase64, type ToolCallPart, writeMedia } from "../core/kit.ts";
import type { MediaForms } from "../shared/adapters/write-media.ts";
import type { RequestChange } from "../core/types/provider.ts";
import { isSameArguments, toWireName } from "../shared/tool-arguments.ts";
import { isTextType, type MediaPart, type ReadableMedia, readText } from "../shared/media-source.ts";
import { type SettingNames, toSettingFields } from "../shared/adapters/sdk-provider.ts";
import { toObjectSchema } from "../shared/adapters/object-schema.ts";
import { planTools, type ToolPlan, withoutUnusedFields } from "../services/plan-tools.ts";
import { checkChatTools, toAcceptedSettings } from "../services/sampling.ts";
import type { ChatCall, ChatMessage, ChatPart, ChatRequestBody, ChatSettings, ChatTool } from "./chat-options.ts";
import {
  planOutput,
  sortResult,
  toDataUrl,
  toFileName,
  toFormat,
  toImageUrl,
  toMediaTitle,
  toWireArguments,
  toWireContent,
} from "./wire-values.ts";
import { readChatMetadata } from "./chat-metadata.ts";
import { separateRoles } from "../services/separate-roles.ts";
import type { Quirks } from "../services/service.ts";

/** Puts the messages in an order that the service accepts. Messages that need no change stay the same objects. */
function orderMessages(messages: readonly ChatMessage[], quirks: Quirks): readonly ChatMessage[] {
  const { emptyText, callText = null } = quirks;
  const filled = emptyText === undefined ? messages : messages.map((message) => fillMessage(message, { emptyText, callText }));
  return separateRoles(quirks.alternates === true ? mergeRoles(filled) : filled, quirks, (role, content) => ({ role, content }));
}

interface Fillings {
  readonly emptyText: string;
  readonly callText: string | null;
}

/** Replaces blank content, omits blank parts, and adds text next to files, because Bedrock refuses a document without text. */
function fillMessage(message: ChatMessage, { emptyText, callText }: Fillings): ChatMessage {
  if (message.role === "assistant" && message.tool_calls !== undefined)
    return isBlank(message.content) ? { ...message, content: callText } : message;
  if (message.role === "system" || message.role === "assistant" || typeof message.content === "string")
    return isBlank(message.content) ? { ...message, content: emptyText } : message;
  const { content } = message;
  const parts = content.filter((part) => part.type !== "text" || !isBlank(part.text));
  if (parts.length === 0) return { ...message, content: emptyText };
  const needsText = parts.some(({ type }) => type === "file") && parts.every(({ type }) => type !== "text");
  if (needsText) return { ...message, content: [{ type: "text", text: "The file:" }, ...parts] };
  return parts.length === content.length ? message : { ...message, content: parts };
}

function isBlank(content: UserContent | null): boolean {
  return typeof content === "string" && content.trim() === "";
}

function mergeRoles(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const merged: ChatMessage[] = [];
  for (const message of messages) {
    const last = merged.at(-1);
    const both = last?.role === message.role ? mergeMessages(last, message) : undefined;
    if (both === undefined) merged.push(message);
    else merged[merged.length - 1] = both;
  }
  return merged;
}

/** Merges two messages, or returns undefined if they need not be merged. A message's calls stay directly before their results. */
function mergeMessages(first: ChatMessage, second: ChatMessage): ChatMessage | undefined {
  if (first.role === "user" && second.role === "user")
    return { role: "user", content: joinContent(first.content, second.content) };
  if (first.role !== "assistant" || second.role !== "assistant" || first.tool_calls !== undefined) return undefined;
  const content = [first.content, second.content].filter((text) => text !== null).join("\n\n");
  return { ...first, ...second, content };
}

type UserContent = string | readonly ChatPart[];

function joinContent(first: UserContent, second: UserContent): UserContent {
  if (typeof first === "string" && typeof second === "string") return `${first}\n\n${second}`;
  return [...toParts(first), ...toParts(second)];
}

function toParts(content: UserContent): readonly ChatPart[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
}

function toChatPart(part: ContentPart): ChatPart {
  const written = part.type === "text" ? part.text : writeMedia(part, chatMedia);
  return typeof written === "string" ? { type: "text", text: written } : written;
}

export function toChatMedia(part: MediaPart): ChatPart | string {
  const written = writeMedia(part, chatMedia);
  return typeof written === "object" && written.type === "text" ? written.text : written;
}

/**
 * Text files are sent as text, because PDFs are the only files that the API accepts
 * (https://developers.openai.com/api/docs/guides/file-inputs).
 */
export const chatMedia: MediaForms<ChatPart> = {
  takes: "images as base64 or https: or http: URLs; PDFs, UTF-8 text files, and WAV or MP3 audio only as base64",
  write(media) {
    const url = toImageUrl(media);
    if (url !== undefined) return { type: "image_url", image_url: { url } };
    return media.kind === "url" ? undefined : toFile(media);
  },
};

function toFile(media: Exclude<ReadableMedia, { readonly kind: "url" }>): ChatPart | undefined {
  const { mediaType } = media;
  const format = audioFormats.get(mediaType);
  if (format !== undefined) return { type: "input_audio", input_audio: { data: toBase64(media), format } };
  if (mediaType === "application/pdf")
    return { type: "file", file: { filename: toFileName(media, "pdf"), file_data: toDataUrl(media) } };
  const text = isTextType(mediaType) ? readText(media) : undefined;
  const name = media.filename === undefined ? "" : ` ${JSON.stringify(media.filename)}`;
  return text === undefined ? undefined : { type: "text", text: `File${name} of type ${mediaType}:\n${text}` };
}

const audioFormats: ReadonlyMap<string, "wav" | "mp3"> = new Map([
  ["audio/wav", "wav"],
  ["audio/wave", "wav"],
  ["audio/x-wav", "wav"],
  ["audio/mpeg", "mp3"],
  ["audio/mp3", "mp3"],
]);

export type MessageSettings = Pick<ChatSettings, "id" | "model" | "echoReasoning" | "toolResultMedia" | "toWireCallId"> &
  Partial<Pick<ChatSettings, "quirks">>;

type MessageConverter = (message: Message) => readonly ChatMessage[];

export function createMessageConverter(settings: MessageSettings): MessageConverter {
  return memoize((message: Message) => toChatMessages(message, settings));
}

function toChatMessages(message: Message, settings: MessageSettings): readonly ChatMessage[] {
  switch (message.role) {
    case "user":
      return [{ role: "user", content: toWireContent(message.content, toChatPart) }];
    case "assistant":
      return toAssistantMessages(message, settings);
    case "tool":
      return toToolMessages(message, settings);
    default:
      return assertNever(message);
  }
}

/** Omits a message that contains only reasoning, because it would be empty, and servers reject empty messages. */
function toAssistantMessages(message: AssistantMessage, settings: MessageSettings): readonly ChatMessage[] {
  const { text, calls: asked } = readAssistantMessage(message);
  if (text === "" && asked.length === 0) return [];
  const { callText = null, firstCallExtra } = settings.quirks ?? {};
  const { reasoningDetails, extras, argumentTexts } = readChatMetadata(message.providerMetadata, settings);
  const calls = asked.map((part, position) => {
    const extra = extras.size === 0 && position === 0 ? firstCallExtra : extras.get(position);
    const call = toChatCall(part, extra, settings);
    const text = argumentTexts.get(position);
    return text === undefined ? call : { ...call, function: { ...call.function, arguments: keepText(text, part.args) } };
  });
  return [
    {
      role: "assistant",
      content: text === "" ? callText : text,
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
      ...(settings.echoReasoning === undefined ? {} : { [settings.echoReasoning]: reasoningOf(message) }),
      ...(reasoningDetails === undefined ? {} : { reasoning_details: reasoningDetails }),
    },
  ];
}

/**
 * Returns a space if the message has no reasoning. DeepSeek in thinking mode requires the reasoning field on every assistant
 * message after the newest user message, and has rejected empty values (github.com/experientiallabs/experiential/pull/890,
 * github.com/NousResearch/hermes-agent/pull/17341).
 */
function reasoningOf({ content }: AssistantMessage): string {
  const reasoning = content.map((part) => (part.type === "reasoning" ? part.text : "")).join("");
  return reasoning === "" ? " " : reasoning;
}

function toChatCall({ callId, name, args }: ToolCallPart, extra: Json | undefined, { toWireCallId }: MessageSettings): ChatCall {
  return {
    id: toWireCallId(callId),
    type: "function",
    function: { name: toWireName(name), arguments: toWireArguments(args) },
    ...(extra === undefined ? {} : { extra_content: extra }),
  };
}

/**
 * Returns the arguments as the service wrote them (`text`), unless they were edited. Different whitespace would cause a prompt cache miss.
 */
function keepText(text: string, args: Json): string {
  return isRecord(args) && isSameArguments(text, JSON.stringify(args)) ? text : toWireArguments(args);
}

/** Converts tool results. If a tool message cannot contain images and files, one user message after the results contains them all. */
function toToolMessages({ results }: ToolMessage, settings: MessageSettings): readonly ChatMessage[] {
  const inTool = settings.toolResultMedia === "tool-message";
  const messages: ChatMessage[] = [];
  const media: ChatPart[] = [];
  for (const result of results) {
    const { text: content, media: parts } = sortResult(result, toChatMedia);
    const id = settings.toWireCallId(result.callId);
    const stays = inTool && parts.length > 0;
    messages.push({ role: "tool", tool_call_id: id, content: stays ? [{ type: "text", text: content }, ...parts] : content });
    if (stays || parts.length === 0) continue;
    media.push({ type: "text", text: toMediaTitle(result.name, id) }, ...parts);
  }
  if (media.length > 0) messages.push({ role: "user", content: media });
  return messages;
}

interface ChatBodyPorts {
  readonly settings: ChatSettings;
  readonly toMessages: MessageConverter;
  report(change: RequestChange): void;
}

export function buildChatBody(request: ModelRequest, { settings, toMessages, report }: ChatBodyPorts): ChatRequestBody {
  const { settings: model = {} } = request;
  const { quirks } = settings;
  const extra = model.extra ?? {};
  const effort = extra["reasoning_effort"];
  const plan = planTools(request, { quirks, report });
  const canCombine = quirks.separatesSchema !== true || plan.tools.length === 0;
  const { system, schema } = planOutput(request, canCombine && extra["response_format"] === undefined);
  if (plan.tools.length > 0) checkChatTools(quirks, settings.model, effort);
  const isStreamed = extra["stream"] !== false;
  const wire = [
    ...toTextMessages("system", system),
    ...request.messages.flatMap(toMessages),
    ...toTextMessages("user", plan.instruction),
  ];
  const body = {
    model: settings.model,
    messages: orderMessages(wire, quirks),
    ...toChatToolFields(plan),
    ...(settings.includeUsage && isStreamed ? { stream_options: { include_usage: true } } : {}),
    ...(settings.promptCacheKey === undefined ? {} : { prompt_cache_key: settings.promptCacheKey }),
    ...toSettingFields(toAcceptedSettings(model, effort, { quirks, report }), namesOf(settings)),
    ...(schema === undefined ? {} : { response_format: { type: "json_schema", json_schema: toFormat(schema) } }),
    // A spread copies a "__proto__" key as a plain field, whereas an assignment would set the prototype.
    ...extra,
    // Casts to `true`, the only value that the types of all SDK versions accept here.
    stream: isStreamed as true,
  };
  return withoutUnusedFields(body, ["tool_choice", "parallel_tool_calls"]);
}

function toTextMessages(role: "system" | "user", content = ""): readonly ChatMessage[] {
  return content === "" ? [] : [{ role, content }];
}

function toChatToolFields({ tools, choice, fields }: ToolPlan): object {
  return tools.length === 0 ? {} : { tools: tools.map(toChatTool), ...toChatChoice(choice), ...fields };
}

function namesOf({ maxTokensField, quirks }: ChatSettings): SettingNames {
  const names = { temperature: "temperature", topP: "top_p", stopSequences: "stop", seed: quirks.seedField ?? "seed" };
  return { maxOutputTokens: maxTokensField, ...names };
}

function toChatChoice(choice: ToolChoice | undefined): object {
  if (choice === undefined) return {};
  return { tool_choice: typeof choice === "string" ? choice : { type: "function", function: { name: choice.name } } };
}

const toChatTool = memoize(({ name, description, inputSchema }: ToolDefinition): ChatTool => ({
  type: "function",
  function: { name, description, parameters: toObjectSchema(inputSchema) },
}));
