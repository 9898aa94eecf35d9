// The contents and settings of a generateContent request. Each message is converted once.

import {
  assertNever,
  type AssistantMessage,
  type ContentPart,
  groupByRole,
  hasSucceeded,
  isOnWeb,
  isTextType,
  type Json,
  type MediaForms,
  type MediaPart,
  type MediaPlace,
  memoize,
  type Message,
  type ModelRequest,
  readTurn,
  toArgumentsObject,
  toBase64,
  type ToolCallPart,
  type ToolChoice,
  type ToolDefinition,
  type ToolMessage,
  type ToolResultPart,
  toSettingFields,
  type UserMessage,
  writeToolMedia,
  writeUserMedia,
} from "../core/provider-kit.ts";
import type { GenerateContentParams, GenerateSettings, WireContent, WirePart } from "./generate-options.ts";
import { idOfCall, isCallPart, readMetadata, toWireName } from "./provider-metadata.ts";

/**
 * The parts of a user's content. Blank texts are left out, because Vertex AI refuses them. Throws a ProviderError `bad-request` for what
 * the wire has no form for.
 */
export function toContentParts(content: string | readonly ContentPart[], place: Omit<MediaPlace, "part">): readonly WirePart[] {
  if (typeof content === "string") return toTextParts(content);
  return content.flatMap((part, index) =>
    part.type === "text" ? toTextParts(part.text) : [writeUserMedia(part, partMedia, { ...place, part: index })],
  );
}

/** One part, or none for a blank text. */
function toTextParts(text: string): readonly WirePart[] {
  return text.trim() === "" ? [] : [{ text }];
}

/** The content of a tool beside its result; in words if the wire has no form for it. */
export function toResultMedia(part: MediaPart): MediaWirePart | string {
  return writeToolMedia(part, partMedia);
}

/** Bytes in base64, or an address for the service to fetch: of the Files API, of a bucket, or of the web. */
export type MediaWirePart =
  | { readonly inlineData: { readonly mimeType: string; readonly data: string } }
  | { readonly fileData: { readonly mimeType: string; readonly fileUri: string } };

/** Whether a part may stand within the answer of a tool. */
export function standsInAnswer(part: MediaWirePart): boolean {
  return "inlineData" in part && answerTypes.has(part.inlineData.mimeType);
}

/** Read from the guide to function calling of the Gemini API, section "Multimodal function responses". */
const answerTypes: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/webp", "application/pdf", "text/plain"]);

const partMedia: MediaForms<MediaWirePart> = {
  takes: "images as PNG, JPEG, WebP, HEIC or HEIF, sounds, videos, PDFs and texts, in base64 or at https:, http: or gs: URLs",
  write(media) {
    const mimeType = toKnownType(media.mediaType);
    if (mimeType === undefined) return undefined;
    if (media.kind !== "url") return { inlineData: { mimeType, data: toBase64(media) } };
    return isOnWeb(media) || media.scheme === "gs" ? { fileData: { mimeType, fileUri: media.url } } : undefined;
  },
};

const imageTypes: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"]);
const otherTypes = /^(?:(?:audio|video)\/[\w.+-]+|application\/pdf)$/;

/** The service reads every text as one, but knows few names for it. */
function toKnownType(mediaType: string): string | undefined {
  if (isTextType(mediaType)) return "text/plain";
  return imageTypes.has(mediaType) || otherTypes.test(mediaType) ? mediaType : undefined;
}

/** The options that change how a message is written. */
export type ContentSettings = Pick<GenerateSettings, "id" | "model" | "generation">;

/**
 * Converts a message, given the one before it and its position. A content without parts is to be left out. Throws a ProviderError
 * `bad-request` where a user's message holds what the wire has no form for.
 */
type ContentConverter = (message: Message, before: Message | undefined, index: number) => WireContent;

/** A turn of the model's, and under which ids its calls are answered; a call without one is answered without one. */
interface ConvertedTurn {
  readonly content: WireContent;
  readonly ids: ReadonlyMap<string, string>;
}

/** The answers to a turn's calls, which carry that turn's ids. */
interface ConvertedResults {
  readonly turn: Message | undefined;
  readonly content: WireContent;
}

/** Makes a converter that remembers what it has converted, by the identity of the message. */
export function createContentConverter(settings: ContentSettings): ContentConverter {
  const results = new WeakMap<ToolMessage, ConvertedResults>();
  const toUser = memoize(({ content }: UserMessage, index: number): WireContent => ({
    role: "user",
    parts: toContentParts(content, { provider: settings.id, message: index }),
  }));
  const toTurn = memoize((message: AssistantMessage) => convertTurn(message, settings));
  return (message, before, index) => {
    switch (message.role) {
      case "user":
        return toUser(message, index);
      case "assistant":
        return toTurn(message).content;
      case "tool": {
        const known = results.get(message);
        if (known !== undefined && known.turn === before) return known.content;
        const ids = before?.role === "assistant" ? toTurn(before).ids : noIds;
        const content: WireContent = { role: "user", parts: convertResults(message, ids, settings) };
        results.set(message, { turn: before, content });
        return content;
      }
      default:
        return assertNever(message);
    }
  };
}

const noIds: ReadonlyMap<string, string> = new Map();

function convertTurn(message: AssistantMessage, settings: ContentSettings): ConvertedTurn {
  const providerMetadata = readMetadata(message, settings);
  const written = providerMetadata ?? rebuildTurn(message);
  // Thoughts alone are no turn.
  const parts = written.every(({ thought }) => thought === true) ? [] : written;
  const signed = settings.generation === 3 ? signFirstCall(parts) : parts;
  return {
    content: { role: "model", parts: signed },
    ids: providerMetadata === undefined ? noIds : readIds(message, providerMetadata),
  };
}

/** The calls stand in the same order on both sides. */
function readIds(turn: AssistantMessage, providerMetadata: readonly WirePart[]): ReadonlyMap<string, string> {
  const ids = new Map<string, string>();
  const asked = providerMetadata.filter(isCallPart);
  for (const [position, call] of readTurn(turn).calls.entries()) {
    const part = asked[position];
    const id = part === undefined ? undefined : idOfCall(part);
    if (id !== undefined) ids.set(call.callId, id);
  }
  return ids;
}

/**
 * Text and calls only: thoughts and ids are those of another service. A step of several calls needs no ids, for its answers come in the
 * same order.
 */
function rebuildTurn(turn: AssistantMessage): readonly WirePart[] {
  const { text, calls } = readTurn(turn);
  return [...toTextParts(text), ...calls.map(toCallPart)];
}

function toCallPart({ name, args }: ToolCallPart): WirePart {
  return { functionCall: { name: toWireName(name), args: toArgumentsObject(args) } };
}

/** The text that the service accepts in place of a signature of its own (https://ai.google.dev/gemini-api/docs/thought-signatures, FAQ). */
const noSignature = "skip_thought_signature_validator";

/**
 * Gemini 3 refuses a step whose first call is not signed, and a step that another model began cannot be. A turn that is signed
 * anywhere stays as it is.
 */
function signFirstCall(parts: readonly WirePart[]): readonly WirePart[] {
  const first = parts.findIndex(isCallPart);
  if (first === -1 || parts.some(({ thoughtSignature }) => thoughtSignature !== undefined)) return parts;
  return parts.map((part, position) => (position === first ? { ...part, thoughtSignature: noSignature } : part));
}

/** All answers of a turn, then what cannot stand within them. */
function convertResults(
  { results }: ToolMessage,
  ids: ReadonlyMap<string, string>,
  settings: ContentSettings,
): readonly WirePart[] {
  const answers: WirePart[] = [];
  const media: WirePart[] = [];
  for (const result of results) {
    const { texts, inside, behind } = sortContent(result, settings);
    answers.push({ functionResponse: toFunctionResponse(result, ids.get(result.callId), { texts, inside }) });
    if (behind.length > 0) media.push({ text: `Content that the tool ${result.name} returned:` }, ...behind);
  }
  return [...answers, ...media];
}

/** The content of a tool beside its result. */
interface SortedContent {
  readonly texts: readonly string[];
  /** Stands within the answer. */
  readonly inside: readonly MediaWirePart[];
  /** Follows the answers. */
  readonly behind: readonly MediaWirePart[];
}

function sortContent({ content = [] }: ToolResultPart, { generation }: ContentSettings): SortedContent {
  const texts: string[] = [];
  const inside: MediaWirePart[] = [];
  const behind: MediaWirePart[] = [];
  for (const part of content) {
    const written = part.type === "text" ? part.text : toResultMedia(part);
    if (typeof written === "string") texts.push(written);
    else if (generation === 3 && standsInAnswer(written)) inside.push(written);
    else behind.push(written);
  }
  return { texts, inside, behind };
}

/** "output" and "error" are the keys that the service reads (docstring of `FunctionResponse.response` in @google/genai). */
function toFunctionResponse(
  part: ToolResultPart,
  id: string | undefined,
  { texts, inside }: Omit<SortedContent, "behind">,
): Json {
  const said = texts.filter((text) => text !== "").join("\n");
  return {
    ...(id === undefined ? {} : { id }),
    name: toWireName(part.name),
    response: { [hasSucceeded(part) ? "output" : "error"]: part.result, ...(said === "" ? {} : { text: said }) },
    ...(inside.length === 0 ? {} : { parts: inside }),
  };
}

/** The inputs of a request. */
interface RequestPorts {
  readonly settings: GenerateSettings;
  readonly convert: ContentConverter;
  readonly signal: AbortSignal;
}

/**
 * Writes a request. `extra` may replace every field of `config` but those that this adapter relies on: the signal, the token to go on
 * with, and that the SDK neither runs tools nor continues an answer by itself.
 */
export function buildGenerateParams(request: ModelRequest, { settings, convert, signal }: RequestPorts): GenerateContentParams {
  const { system, messages, continuationToken, settings: model = {} } = request;
  return {
    model: settings.model,
    contents: joinContents(messages, convert),
    config: {
      ...(system === undefined || system.trim() === "" ? {} : { systemInstruction: { parts: [{ text: system }] } }),
      ...toToolFields(request, settings),
      ...toSettingFields(model),
      ...(settings.thinking === undefined ? {} : { thinkingConfig: settings.thinking }),
      // Spread, not assigned: an own key "__proto__" stays a field.
      ...model.extra,
      ...(continuationToken === undefined ? {} : { continuationToken }),
      automaticFunctionCalling: { disable: true },
      automaticContinuation: false,
      abortSignal: signal,
    },
  };
}

/** The service wants the user to begin. */
const opening: WireContent = { role: "user", parts: [{ text: "(The conversation begins.)" }] };

/** Contents of one role that follow each other become one: answers of tools, then what a user says to them. */
function joinContents(messages: readonly Message[], convert: ContentConverter): readonly WireContent[] {
  const contents = messages.map((message, index) => convert(message, messages[index - 1], index));
  const groups = groupByRole(contents.filter(({ parts }) => parts.length > 0));
  const joined = groups.map((group) =>
    group.length === 1 ? group[0] : { role: group[0].role, parts: group.flatMap(({ parts }) => parts) },
  );
  return joined[0]?.role === "model" ? [opening, ...joined] : joined;
}

function toToolFields({ tools, toolChoice }: ModelRequest, settings: GenerateSettings): object {
  const { serverTools } = settings;
  if (tools.length + serverTools.length === 0) return {};
  const functions = tools.length === 0 ? [] : [{ functionDeclarations: tools.map(toDeclaration) }];
  return { tools: [...functions, ...serverTools], ...(tools.length === 0 ? {} : toToolConfig(toolChoice, settings)) };
}

/** With tools of both kinds, Gemini 3 has to be asked to tell of the calls of its own; Vertex AI has no field for it. */
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
 * As `parametersJsonSchema`, which takes any JSON Schema: the older field `parameters` answers 400 to keywords that it does not know,
 * such as `exclusiveMinimum`.
 */
const toDeclaration = memoize(({ name, description, inputSchema }: ToolDefinition): object => ({
  name,
  description,
  parametersJsonSchema: inputSchema,
}));
