// Asks for the answer, without tools, and puts the conversation into words for a model that cannot call tools.

import {
  type AssistantMessage,
  groupByRole,
  type Json,
  type Message,
  type ModelChunk,
  type ModelRequest,
  providerError,
  type RequestTranscript,
  type UserMessage,
  userTextOf,
} from "../core/entry-kit.ts";
import { isPlanMetadata, type MadePlan, type PlanRecord, type PlanRounds, recordsOf, toPlanMetadata } from "./plan-record.ts";
import { type Asking, readChunks } from "./read-chunks.ts";

/** The inputs of an answer. */
interface Answering {
  readonly conversation: readonly Message[];
  readonly rounds: PlanRounds;
  /** The plan that asked for the answer, where one did. */
  readonly plan: MadePlan | undefined;
  /** Whether it goes on with the turn at the end of the conversation. */
  readonly goesOn: boolean;
  readonly extraInstruction: string;
}

/** Asks for the answer. The model has no tools: calls that it makes up are not handed on. */
export async function* askForAnswer(
  asking: Asking,
  request: ModelRequest,
  answering: Answering,
): AsyncGenerator<ModelChunk, void, undefined> {
  const { plan } = answering;
  let draft = new AnswerDraft();
  for await (const chunk of readChunks(asking, { ...request, messages: toMessages(answering) })) {
    if (chunk.type === "attempt-discarded") draft = new AnswerDraft();
    if (chunk.type === "finish") {
      yield* asking.account.end();
      yield* draft.providerMetadata;
      if (plan !== undefined) yield toPlanMetadata(plan);
    }
    if (draft.take(chunk)) yield chunk.type === "finish" ? draft.toEnd(chunk) : chunk;
  }
}

/** The results of the tools come after the words of the user, before a message that goes on. */
function toMessages({ conversation, rounds, goesOn, extraInstruction }: Answering): readonly Message[] {
  const { donePlans } = rounds;
  if (donePlans.length === 0) return joinUserMessages(conversation);
  const end = goesOn && conversation.at(-1)?.role === "assistant" ? conversation.length - 1 : conversation.length;
  const results = toResults(donePlans, extraInstruction);
  return joinUserMessages([...conversation.slice(0, end), results, ...conversation.slice(end)]);
}

/** The text of one attempt. Provider metadata wait for its end: those of an answer with calls in it would be sent back with the calls. */
class AnswerDraft {
  readonly #providerMetadata: ModelChunk[] = [];
  #hasCalls = false;
  #hasText = false;

  get providerMetadata(): readonly ModelChunk[] {
    return this.#hasCalls ? [] : this.#providerMetadata;
  }

  /** Whether a chunk is handed on at once. */
  take(chunk: ModelChunk): boolean {
    const { type } = chunk;
    if (type === "text-delta" || type === "refusal-delta") this.#hasText ||= chunk.text.trim() !== "";
    if (type === "provider-metadata") this.#providerMetadata.push(chunk);
    const isCall = type === "call-start" || type === "call-args-delta" || type === "call-ready";
    this.#hasCalls ||= isCall;
    return !isCall && type !== "provider-metadata";
  }

  /** How it ended: an answer of nothing but calls is none. */
  toEnd(finish: Extract<ModelChunk, { type: "finish" }>): ModelChunk {
    const isDone = finish.reason === "tool-calls" || finish.reason === "stop";
    if (!isDone || !this.#hasCalls || this.#hasText) return finish;
    return {
      type: "error",
      error: providerError("no-output", "The answer was nothing but calls, and no tool may be called in it."),
    };
  }
}

/**
 * The conversation without calls. What tools gave before the run stands where it was given; what they gave since is left out, for it is
 * shown apart.
 */
export function conversationOf(messages: readonly Message[], { messages: all, given }: RequestTranscript): readonly Message[] {
  const own = new Set(all.slice(given).flatMap((message) => (message.role === "assistant" ? callIdsOf(message) : [])));
  return messages.flatMap((message, at): readonly Message[] => {
    if (message.role === "tool") return [];
    if (message.role === "user") return [message];
    const isOwn = callIdsOf(message).some((callId) => own.has(callId));
    const records = isOwn ? [] : recordsOf(message, messages[at + 1]);
    return records.length === 0 ? spoken(message) : [...spoken(message), toResults(records)];
  });
}

function callIdsOf({ content }: AssistantMessage): readonly string[] {
  return content.flatMap((part) => (part.type === "tool-call" ? [part.callId] : []));
}

/** The text of a message, if any. The provider's own parts stay only if nothing was taken out. */
function spoken({ role, content, providerMetadata }: AssistantMessage): readonly AssistantMessage[] {
  const said = content.filter((part) => part.type !== "tool-call");
  const own = said.length === content.length ? (providerMetadata ?? []).filter(({ item }) => !isPlanMetadata(item)) : [];
  if (own.length > 0) return [{ role, content: said, providerMetadata: own }];
  return said.length === 0 ? [] : [{ role, content: said }];
}

/** The request of the user in this run, in words: the last message before it, and all since. */
export function userInputOf({ messages, given }: RequestTranscript): string {
  let first = given;
  while (first > 0 && messages[first - 1]?.role !== "user") first -= 1;
  while (first > 0 && messages[first - 1]?.role === "user") first -= 1;
  const said = messages.slice(first).flatMap((message) => (message.role === "user" ? [userTextOf(message)] : []));
  return said.join("\n\n");
}

/** Records as a message: by their purposes; a purpose that comes again is numbered. */
export function toResults(records: readonly PlanRecord[], extra_instruction?: string): UserMessage {
  const results = new Map<string, Json>();
  const copies = new Map<string, number>();
  for (const { purpose, tool_name, success, result, error } of records) {
    const name = purpose === "" ? tool_name : purpose;
    let copy = copies.get(name) ?? 1;
    let key = name;
    for (; results.has(key); key = `${name} (${copy})`) copy += 1;
    copies.set(name, copy);
    results.set(key, success ? result : { error });
  }
  const action_results = Object.fromEntries(results);
  return { role: "user", content: JSON.stringify({ action_results, extra_instruction }, undefined, 2) };
}

/** Messages of the user that follow each other as one: many a model of text takes turns only. */
export function joinUserMessages(messages: readonly Message[]): readonly Message[] {
  return groupByRole(messages).flatMap((group): readonly Message[] => {
    const said = group.flatMap((message) => (message.role === "user" ? [message.content] : []));
    return said.length < 2 ? group : [joinContents(said)];
  });
}

function joinContents(contents: readonly UserMessage["content"][]): UserMessage {
  const texts = contents.filter((content) => typeof content === "string");
  if (texts.length < contents.length) return { role: "user", content: contents.flatMap(toParts) };
  return { role: "user", content: texts.filter((text) => text !== "").join("\n\n") };
}

function toParts(content: UserMessage["content"]): Exclude<UserMessage["content"], string> {
  if (typeof content !== "string") return content;
  return content === "" ? [] : [{ type: "text", text: content }];
}
