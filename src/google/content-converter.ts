// Neutral messages into contents of the wire, each converted once in its life.

import { assertNever, hasSucceeded, memoize, readTurn, toArgumentsObject } from "../core/provider-kit.ts";
import type {
  AssistantMessage,
  Json,
  Message,
  ToolCallPart,
  ToolMessage,
  ToolResultPart,
  UserMessage,
} from "../core/provider-kit.ts";
import { type MediaWirePart, standsInAnswer, toContentParts, toResultMedia, toTextParts } from "./content-parts.ts";
import type { GenerateSettings } from "./generate-options.ts";
import type { WireContent, WirePart } from "./generate-wire.ts";
import { idOfCall, isCallPart, readMetadata, toWireName } from "./provider-metadata.ts";

/** What of the options changes how a message is written. */
export type ContentSettings = Pick<GenerateSettings, "id" | "model" | "generation">;

/**
 * Converts a message, given the one before it and its position. A content without parts is to be left out. Throws a ProviderError
 * `bad-request` where a user's message holds what the wire has no form for.
 */
export type ContentConverter = (message: Message, before: Message | undefined, index: number) => WireContent;

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

/** What the service takes in place of a signature of its own (https://ai.google.dev/gemini-api/docs/thought-signatures, FAQ). */
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

/** What a tool handed over beside its result. */
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
