// Converts a scripted message to a neutral form that can be written in each API's format.

import { digest } from "../../shared/json.ts";
import type { FinishReason, ModelChunk, ProviderError } from "../../core/index.ts";
import { isRecord } from "../../core/kit.ts";
import type { UnknownRecord } from "../../shared/guards.ts";
import type { WireRequest } from "../../services/rule.ts";
import type { MockMessage, MockPart } from "../mock-parts.ts";

/** A scripted part that is neither output nor a call, such as a wait or an error. */
export type Control = Exclude<MockPart, { readonly kind: "chunks" | "call" }>;

/** Text, divided into the deltas that are sent. */
export interface Spoken {
  readonly kind: "text" | "reasoning" | "refusal";
  readonly texts: readonly string[];
}

export interface AnswerCall {
  readonly kind: "call";
  readonly id: string;
  readonly name: string;
  readonly argsText: string;
  readonly fragments: readonly string[];
  /** The position of the call in the conversation. */
  readonly turn: number;
}

/** A content block, output item or part that is sent unchanged, for example a call to a server tool. */
export interface RawItem {
  readonly kind: "item";
  readonly item: UnknownRecord;
}

export type Piece = Spoken | AnswerCall | RawItem | { readonly kind: "error"; readonly error: ProviderError } | Control;

export interface Answer {
  readonly pieces: readonly Piece[];
  readonly finish: FinishReason;
  readonly counts: AnswerCounts;
  /** A digest of the request. Ids contain it, so they differ between requests. */
  readonly key: string;
  readonly model: string;
  readonly request: WireRequest;
}

export interface AnswerCounts {
  readonly input: number;
  readonly output: number;
  readonly cached: number;
  readonly reasoning: number;
}

/** A step of a stream: text to send, or another event. */
export type Frame = string | Control;

interface CallPlace {
  readonly key: string;
  /** The position of the call in its message. */
  readonly index: number;
  readonly name: string;
  readonly request: WireRequest;
}

/** Creates the id that a service gives a call. */
export type ToCallId = (place: CallPlace) => string;

export function toAnswer(message: MockMessage, request: WireRequest, toCallId: ToCallId): Answer {
  const parts: readonly MockPart[] = "kind" in message ? [message] : message;
  const key = digest(request.text)
    .replaceAll(/[^a-zA-Z0-9]/g, "")
    .slice(0, 8);
  const pieces: Piece[] = [];
  const seen: Seen = { finish: undefined, counts: undefined };
  let index = 0;
  for (const part of parts) {
    if (part.kind === "chunks") for (const chunk of part.chunks) readChunk(chunk, pieces, seen);
    else if (part.kind !== "call") pieces.push(part);
    else {
      const { name, argsText, fragments } = part;
      const id = part.id ?? toCallId({ key, index, name, request });
      pieces.push({ kind: "call", id, name, argsText, fragments, turn: request.calls.length + index });
      index += 1;
    }
  }
  const { finish = index > 0 ? "tool-calls" : "stop", counts = estimate(request, pieces) } = seen;
  return { pieces, finish, counts, key, model: request.model, request };
}

interface Seen {
  finish: FinishReason | undefined;
  counts: AnswerCounts | undefined;
}

const kindsOfText: { readonly [type: string]: Spoken["kind"] } = {
  "text-delta": "text",
  "reasoning-delta": "reasoning",
  "refusal-delta": "refusal",
};

function readChunk(chunk: ModelChunk, pieces: Piece[], seen: Seen): void {
  const kind = kindsOfText[chunk.type];
  if (kind !== undefined && "text" in chunk) {
    if (chunk.text !== "") addText(pieces, kind, chunk.text);
  } else if (chunk.type === "usage") {
    const { inputTokens, outputTokens, cachedInputTokens = 0, reasoningTokens = 0 } = chunk.usage;
    seen.counts = { input: inputTokens, output: outputTokens, cached: cachedInputTokens, reasoning: reasoningTokens };
  } else if (chunk.type === "finish") seen.finish = chunk.reason;
  else if (chunk.type === "error") pieces.push({ kind: "error", error: chunk.error }, { kind: "end-early" });
  else if (chunk.type === "provider-metadata" && isRecord(chunk.item)) pieces.push({ kind: "item", item: chunk.item });
  else {
    throw new TypeError(
      `A strict service cannot send a chunk of type "${chunk.type}". Use text(), reasoning(), refusal(), toolCall(), providerMetadata(), usage() and finish().`,
    );
  }
}

/** Adds text. Continues the previous text if both have the same kind. */
function addText(pieces: Piece[], kind: Spoken["kind"], text: string): void {
  const last = pieces[pieces.length - 1];
  if (last === undefined || !isSpoken(last) || last.kind !== kind) pieces.push({ kind, texts: [text] });
  else pieces[pieces.length - 1] = { kind, texts: [...last.texts, text] };
}

export function isSpoken(piece: Piece): piece is Spoken {
  return "texts" in piece;
}

/** Estimates four characters per token, as `createMockProvider` does. */
function estimate({ text }: WireRequest, pieces: readonly Piece[]): AnswerCounts {
  const said = pieces
    .map((piece) => (isSpoken(piece) ? piece.texts.join("") : piece.kind === "call" ? piece.argsText : ""))
    .join("");
  return { input: Math.ceil(text.length / 4), output: Math.ceil(said.length / 4), cached: 0, reasoning: 0 };
}

export const sse = (data: object): string => `data: ${JSON.stringify(data)}\n\n`;

export const namedSse = (data: { readonly type: string }): string => `event: ${data.type}\n${sse(data)}`;

export function joinTexts(pieces: readonly Piece[], kind: Spoken["kind"]): string {
  return pieces.map((piece) => (isSpoken(piece) && piece.kind === kind ? piece.texts.join("") : "")).join("");
}

export function callsOf(pieces: readonly Piece[]): readonly AnswerCall[] {
  return pieces.filter((piece): piece is AnswerCall => piece.kind === "call");
}
