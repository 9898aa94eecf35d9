// What was said, as the conventions write it: lists of messages with parts, as JSON. github.com/open-telemetry/semantic-conventions-genai,
// docs/gen-ai/non-normative/models.py. Pictures and files are named, not copied.

import {
  assertNever,
  type AssistantPart,
  isRecord,
  type Json,
  type Message,
  type ModelChunk,
  type UserPart,
} from "../core/provider-kit.ts";

/** A system text. */
export function toInstructions(system: string): Json {
  return [{ type: "text", content: system }];
}

/** What a request says. */
export function toInputMessages(messages: readonly Message[]): Json {
  return messages.map(toMessage);
}

function toMessage(message: Message): Json {
  switch (message.role) {
    case "user":
      return { role: "user", parts: toUserParts(message.content) };
    case "assistant":
      return { role: "assistant", parts: message.content.map(toAssistantPart) };
    case "tool":
      return {
        role: "tool",
        parts: message.results.map(({ callId, result }) => ({ type: "tool_call_response", id: callId, response: result })),
      };
    default:
      return assertNever(message);
  }
}

function toUserParts(content: string | readonly UserPart[]): readonly Json[] {
  return typeof content === "string" ? [{ type: "text", content }] : content.map(toUserPart);
}

const isAddress = /^(?!data:)[a-z][a-z\d+.-]*:/i;

function toUserPart(part: UserPart): Json {
  if (part.type === "text") return { type: "text", content: part.text };
  const modality = part.type === "image" ? "image" : modalityOf(part.mediaType);
  const facts = { mime_type: part.mediaType, modality };
  const uri = String(part.data);
  return isAddress.test(uri) ? { type: "uri", ...facts, uri } : { type: part.type, ...facts };
}

/** The words of the conventions; what is none of these is a document. */
function modalityOf(mediaType: string): string {
  return /^(?:image|video|audio)(?=\/)/.exec(mediaType)?.[0] ?? "document";
}

function toAssistantPart(part: AssistantPart): Json {
  if (part.type === "tool-call") return { type: "tool_call", id: part.callId, name: part.name, arguments: part.args };
  return { type: part.type, content: part.text };
}

/** Gathers what a stream says. Foreign chunks: nothing of them is certain. */
export class SaidContent {
  #text = "";
  #reasoning = "";
  #calls: Json[] = [];

  take(chunk: ModelChunk): void {
    if (chunk.type === "text-delta" || chunk.type === "refusal-delta") this.#text += chunk.text;
    else if (chunk.type === "reasoning-delta") this.#reasoning += chunk.text;
    else if (chunk.type === "call-ready") this.#calls.push(toCall(chunk));
    // What the attempt has said is taken back.
    else if (chunk.type === "attempt-discarded") [this.#text, this.#reasoning, this.#calls] = ["", "", []];
  }

  toMessages(): Json {
    const parts: readonly Json[] = [
      ...(this.#reasoning === "" ? [] : [{ type: "reasoning", content: this.#reasoning }]),
      ...(this.#text === "" ? [] : [{ type: "text", content: this.#text }]),
      ...this.#calls,
    ];
    return [{ role: "assistant", parts }];
  }
}

function toCall({ id, name, args, argsText }: Extract<ModelChunk, { type: "call-ready" }>): Json {
  const known = isRecord(args) ? (args as Json) : (argsText ?? null);
  return { type: "tool_call", ...(id === undefined ? {} : { id }), name, arguments: known };
}
