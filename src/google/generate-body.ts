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
  ToolResultPart,
  UserMessage,
} from "../core/index.ts";
import { continueText, openingText } from "../shared/adapters/wire-names.ts";
import type { OutputPlan } from "../shared/adapters/output-schema.ts";
import type { RequestChange } from "../core/types/provider.ts";
import { groupByRole, toSettingFields } from "../shared/adapters/sdk-provider.ts";
import {
  hasSucceeded,
  memoize,
  readAssistantMessage,
  textOf,
  toArgumentsObject,
  toBase64,
  type ToolCallPart,
  writeMedia,
} from "../core/kit.ts";
import { planCached } from "../shared/adapters/cached-content.ts";
import type { MediaForms } from "../shared/adapters/write-media.ts";
import { isOnWeb, isTextType, type MediaPart } from "../shared/media-source.ts";
import { toObjectSchema } from "../shared/adapters/object-schema.ts";
import {
  type GenerateContentParams,
  type GenerateSettings,
  planOutput,
  type WireContent,
  type WirePart,
  withoutUnusedMode,
} from "./generate-options.ts";
import { idOfCall, isCallPart, readMetadata, toWireName } from "./provider-metadata.ts";

/** Converts content to parts. Omits blank text, because Vertex AI rejects it. */
export function toContentParts(content: string | readonly ContentPart[]): readonly WirePart[] {
  if (typeof content === "string") return toTextParts(content);
  return content.flatMap((part) => {
    const written = part.type === "text" ? part.text : toResultMedia(part);
    if (typeof written === "string") return toTextParts(written);
    return part.type === "text" ? [] : [...toNames(part), written];
  });
}

/**
 * Returns a file's name as text parts. Only Vertex AI has a field for it, and models do not see that field (docstring of
 * `Blob.displayName` in @google/genai).
 */
function toNames({ type, filename = "" }: MediaPart): readonly { readonly text: string }[] {
  return type === "image" || filename.trim() === "" ? [] : [{ text: `File ${JSON.stringify(filename)}:` }];
}

function toTextParts(text: string): readonly WirePart[] {
  return text.trim() === "" ? [] : [{ text }];
}

export function toResultMedia(part: MediaPart): MediaWirePart | string {
  return writeMedia(part, partMedia);
}

/** A part with base64 data, or with a URL that the service fetches: from the Files API, a storage bucket or the web. */
export type MediaWirePart =
  | { readonly inlineData: { readonly mimeType: string; readonly data: string } }
  | { readonly fileData: { readonly mimeType: string; readonly fileUri: string } };

/** True if a function response may contain the part. */
export function standsInAnswer(part: MediaWirePart): boolean {
  return "inlineData" in part && answerTypes.has(part.inlineData.mimeType);
}

/** The media types that function responses may contain (Gemini API, Function calling, "Multimodal function responses"). */
const answerTypes: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/webp", "application/pdf", "text/plain"]);

export const partMedia: MediaForms<MediaWirePart> = {
  takes: "PNG, JPEG, WebP, HEIC and HEIF images, audio, video, PDFs and text files, as base64 or https:, http: or gs: URLs",
  write(media) {
    const mimeType = toKnownType(media.mediaType);
    if (mimeType === undefined) return undefined;
    if (media.kind !== "url") return { inlineData: { mimeType, data: toBase64(media) } };
    return isOnWeb(media) || media.scheme === "gs" ? { fileData: { mimeType, fileUri: media.url } } : undefined;
  },
};

const imageTypes: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"]);
const otherTypes = /^(?:(?:audio|video)\/[\w.+-]+|application\/pdf)$/;

/** Returns "text/plain" for all text types, because the service supports few other text types. */
function toKnownType(mediaType: string): string | undefined {
  if (isTextType(mediaType)) return "text/plain";
  return imageTypes.has(mediaType) || otherTypes.test(mediaType) ? mediaType : undefined;
}

export type ContentSettings = Pick<GenerateSettings, "id" | "model" | "generation">;

/** Converts one message. If the result has no parts, the caller must leave it out of the request. */
type ContentConverter = (message: Message, before: Message | undefined) => WireContent;

interface ConvertedAssistant {
  readonly content: WireContent;
  /** The ids that the results must have, by call id. Calls to which the service gave no id are missing. */
  readonly ids: ReadonlyMap<string, string>;
}

interface ConvertedResults {
  /** The message before the results. The ids in `content` come from the calls of this message. */
  readonly before: Message | undefined;
  readonly content: WireContent;
}

export function createContentConverter(settings: ContentSettings): ContentConverter {
  const results = new WeakMap<ToolMessage, ConvertedResults>();
  const toUser = memoize(({ content }: UserMessage): WireContent => ({ role: "user", parts: toContentParts(content) }));
  const toAssistant = memoize((message: AssistantMessage) => convertAssistantMessage(message, settings));
  return (message, before) => {
    switch (message.role) {
      case "user":
        return toUser(message);
      case "assistant":
        return toAssistant(message).content;
      case "tool": {
        const known = results.get(message);
        if (known !== undefined && known.before === before) return known.content;
        const ids = before?.role === "assistant" ? toAssistant(before).ids : noIds;
        const content: WireContent = { role: "user", parts: convertResults(message, ids, settings) };
        results.set(message, { before, content });
        return content;
      }
      default:
        return assertNever(message);
    }
  };
}

const noIds: ReadonlyMap<string, string> = new Map();

function convertAssistantMessage(message: AssistantMessage, settings: ContentSettings): ConvertedAssistant {
  const providerMetadata = readMetadata(message, settings);
  const written = providerMetadata ?? rebuildMessage(message);
  // Drops a message that contains only thoughts, because the API would receive it as empty.
  const parts = written.every(({ thought }) => thought === true) ? [] : written;
  const signed = settings.generation === 3 ? signFirstCall(parts) : parts;
  return {
    content: { role: "model", parts: signed },
    ids: providerMetadata === undefined ? noIds : readIds(message, providerMetadata),
  };
}

function readIds(message: AssistantMessage, providerMetadata: readonly WirePart[]): ReadonlyMap<string, string> {
  const ids = new Map<string, string>();
  const asked = providerMetadata.filter(isCallPart);
  for (const [position, call] of readAssistantMessage(message).calls.entries()) {
    const part = asked[position];
    const id = part === undefined ? undefined : idOfCall(part);
    if (id !== undefined) ids.set(call.callId, id);
  }
  return ids;
}

/**
 * Keeps only text and calls, because thoughts and ids may come from another service. Calls need no ids, because the results are in the same
 * order as the calls.
 */
function rebuildMessage(message: AssistantMessage): readonly WirePart[] {
  const { text, calls } = readAssistantMessage(message);
  return [...toTextParts(text), ...calls.map(toCallPart)];
}

function toCallPart({ name, args }: ToolCallPart): WirePart {
  return { functionCall: { name: toWireName(name), args: toArgumentsObject(args) } };
}

/** A placeholder that the service accepts as a signature (https://ai.google.dev/gemini-api/docs/thought-signatures, FAQ). */
const noSignature = "skip_thought_signature_validator";

/**
 * Adds `noSignature` to the first call if no call has a signature, as in a message from another model. Gemini 3 and later require one
 * there, and a text part's signature is not enough.
 */
function signFirstCall(parts: readonly WirePart[]): readonly WirePart[] {
  const first = parts.findIndex(isCallPart);
  if (parts.every((part) => !isCallPart(part) || part.thoughtSignature !== undefined)) return parts;
  if (parts.some((part) => isCallPart(part) && part.thoughtSignature !== undefined)) return parts;
  return parts.map((part, position) => (position === first ? { ...part, thoughtSignature: noSignature } : part));
}

function convertResults(
  { results }: ToolMessage,
  ids: ReadonlyMap<string, string>,
  settings: ContentSettings,
): readonly WirePart[] {
  const answers: WirePart[] = [];
  const media: WirePart[] = [];
  for (const result of results) {
    const { texts, inside, after } = sortContent(result, settings);
    answers.push({ functionResponse: toFunctionResponse(result, ids.get(result.callId), { texts, inside }) });
    if (after.length > 0) media.push({ text: `Content that the tool ${result.name} returned:` }, ...after);
  }
  return [...answers, ...media];
}

interface SortedContent {
  readonly texts: readonly string[];
  readonly inside: readonly MediaWirePart[];
  readonly after: readonly MediaWirePart[];
}

function sortContent({ content = [] }: ToolResultPart, { generation }: ContentSettings): SortedContent {
  const texts: string[] = [];
  const inside: MediaWirePart[] = [];
  const after: MediaWirePart[] = [];
  for (const part of content) {
    const written = part.type === "text" ? part.text : toResultMedia(part);
    if (typeof written === "string") texts.push(written);
    else if (generation === 3 && standsInAnswer(written)) inside.push(written);
    else after.push(written);
    if (part.type !== "text" && typeof written === "object") texts.push(...toNames(part).map(({ text }) => text));
  }
  return { texts, inside, after };
}

/** Converts a tool result. The keys "output" and "error" are those in the docstring of `FunctionResponse.response` in @google/genai. */
function toFunctionResponse(part: ToolResultPart, id: string | undefined, { texts, inside }: Omit<SortedContent, "after">): Json {
  const said = texts.filter((text) => text !== "").join("\n");
  return {
    ...(id === undefined ? {} : { id }),
    name: toWireName(part.name),
    response: { [hasSucceeded(part) ? "output" : "error"]: part.result, ...(said === "" ? {} : { text: said }) },
    ...(inside.length === 0 ? {} : { parts: inside }),
  };
}

interface RequestPorts {
  readonly settings: GenerateSettings;
  readonly convert: ContentConverter;
  readonly signal: AbortSignal;
  report(change: RequestChange): void;
}

/**
 * Builds the SDK's parameters. The request's `settings.extra` may replace fields of `config`, except the signal, the continuation
 * token, and the fields that keep the SDK from running tools or continuing an answer automatically.
 */
export function buildGenerateParams(
  given: ModelRequest,
  { settings, convert, signal, report }: RequestPorts,
): GenerateContentParams {
  const isCached = textOf(given.settings?.extra?.["cachedContent"]) !== "";
  const used = isCached ? { ...settings, serverTools: [] } : settings;
  const plan = (request: ModelRequest): OutputPlan => planOutput(request, used);
  const serverTools = ["serverTools", settings.serverTools.length] as const;
  const planned = isCached ? planCached(given, { serverTools, plan, report }) : { request: given, ...plan(given) };
  const { request, system, schema } = planned;
  const { messages, continuationToken, settings: model = {} } = request;
  return {
    model: settings.model,
    contents: joinContents(messages, convert, continuationToken !== undefined),
    config: withoutUnusedMode({
      ...(system === undefined || system.trim() === "" ? {} : { systemInstruction: { parts: [{ text: system }] } }),
      ...toToolFields(request, used),
      ...toSettingFields(model),
      ...(settings.thinking === undefined ? {} : { thinkingConfig: settings.thinking }),
      ...(schema === undefined ? {} : { responseMimeType: "application/json", responseJsonSchema: schema }),
      // A spread copies a "__proto__" key as a plain field, whereas an assignment would set the prototype.
      ...model.extra,
      ...(continuationToken === undefined ? {} : { continuationToken }),
      automaticFunctionCalling: { disable: true },
      automaticContinuation: false,
      abortSignal: signal,
    }),
  };
}

const opening: WireContent = { role: "user", parts: [{ text: openingText }] };
const continuation: WireContent = { role: "user", parts: [{ text: continueText }] };

/**
 * Joins the messages so that the conversation begins and ends with a user message, as the service requires. If the service is continuing
 * its own last message, for which it has sent a token, that message stays last.
 */
function joinContents(messages: readonly Message[], convert: ContentConverter, isContinued: boolean): readonly WireContent[] {
  const contents = messages.map((message, index) => convert(message, messages[index - 1]));
  const groups = groupByRole(contents.filter(({ parts }) => parts.length > 0));
  const joined = groups.map((group) =>
    group.length === 1 ? group[0] : { role: group[0].role, parts: group.flatMap(({ parts }) => parts) },
  );
  const begun = joined[0]?.role === "user" ? joined : [opening, ...joined];
  return begun.at(-1)?.role === "user" || isContinued ? begun : [...begun, continuation];
}

function toToolFields({ tools, toolChoice }: ModelRequest, settings: GenerateSettings): object {
  const { serverTools } = settings;
  if (tools.length + serverTools.length === 0) return {};
  const functions = tools.length === 0 ? [] : [{ functionDeclarations: tools.map(toDeclaration) }];
  return { tools: [...functions, ...serverTools], ...(tools.length === 0 ? {} : toToolConfig(toolChoice, settings)) };
}

/**
 * Returns the tool settings. Gemini 3 requires `includeServerSideToolInvocations` if the run's tools and the service's are combined. Vertex
 * AI has no such field.
 */
function toToolConfig(choice: ToolChoice | undefined, settings: GenerateSettings): object {
  const { client, generation, serverTools, streamArguments } = settings;
  const calling = {
    ...(choice === undefined ? {} : toCallingMode(choice)),
    ...(streamArguments ? { streamFunctionCallArguments: true } : {}),
  };
  const toolConfig = {
    ...(Object.keys(calling).length === 0 ? {} : { functionCallingConfig: calling }),
    ...(serverTools.length > 0 && generation === 3 && client.vertexai !== true ? { includeServerSideToolInvocations: true } : {}),
  };
  return Object.keys(toolConfig).length === 0 ? {} : { toolConfig };
}

const modes = { auto: "AUTO", required: "ANY", none: "NONE" } as const;

function toCallingMode(choice: ToolChoice): object {
  return typeof choice === "string" ? { mode: modes[choice] } : { mode: modes.required, allowedFunctionNames: [choice.name] };
}

/**
 * Declares a tool with `parametersJsonSchema`, which accepts any JSON Schema. With the older `parameters` field, the service rejects
 * unknown keywords such as `exclusiveMinimum` with status 400.
 */
const toDeclaration = memoize(({ name, description, inputSchema }: ToolDefinition): object => ({
  name,
  description,
  parametersJsonSchema: toObjectSchema(inputSchema),
}));
