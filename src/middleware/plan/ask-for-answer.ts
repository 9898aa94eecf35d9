import {
  type AssistantMessage,
  type Json,
  type Message,
  type ModelChunk,
  type ModelRequest,
  providerError,
  type UserMessage,
} from "../../core/index.ts";
import { groupByRole } from "../../shared/adapters/sdk-provider.ts";

import { partsOf, userTextOf } from "../../shared/transcript.ts";
import {
  isPlanMetadata,
  type MadePlan,
  type PlanRecord,
  type PlanRounds,
  recordsOf,
  toPlanMetadata,
  type RequestTranscript,
} from "./plan-record.ts";
import { type Asking, readChunks } from "./planner-request.ts";

interface Answering {
  readonly conversation: readonly Message[];
  readonly rounds: PlanRounds;
  readonly plan: MadePlan | undefined;
  readonly goesOn: boolean;
  readonly extraInstruction: string;
}

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

/**
 * Returns the messages for the answer, with the tool results at the end. If the model continues its last message, the results come before
 * that message.
 */
function toMessages({ conversation, rounds, goesOn, extraInstruction }: Answering): readonly Message[] {
  const { donePlans } = rounds;
  if (donePlans.length === 0) return joinUserMessages(conversation);
  const end = goesOn && conversation.at(-1)?.role === "assistant" ? conversation.length - 1 : conversation.length;
  const results = toResults(donePlans, extraInstruction);
  return joinUserMessages([...conversation.slice(0, end), results, ...conversation.slice(end)]);
}

/**
 * Holds back provider metadata until the answer ends. If the answer contains calls, which the model must have made up, the metadata is
 * dropped, because the next request would otherwise repeat these calls.
 */
class AnswerDraft {
  readonly #providerMetadata: ModelChunk[] = [];
  #hasCalls = false;
  #hasText = false;

  get providerMetadata(): readonly ModelChunk[] {
    return this.#hasCalls ? [] : this.#providerMetadata;
  }

  take(chunk: ModelChunk): boolean {
    const { type } = chunk;
    if (type === "text-delta" || type === "refusal-delta") this.#hasText ||= chunk.text.trim() !== "";
    if (type === "provider-metadata") this.#providerMetadata.push(chunk);
    const isCall = type === "call-start" || type === "call-args-delta" || type === "call-ready";
    this.#hasCalls ||= isCall;
    return !isCall && type !== "provider-metadata";
  }

  toEnd(finish: Extract<ModelChunk, { type: "finish" }>): ModelChunk {
    const isDone = finish.reason === "tool-calls" || finish.reason === "stop";
    if (!isDone || !this.#hasCalls || this.#hasText) return finish;
    return {
      type: "error",
      error: providerError(
        "no-output",
        "The answer contains only tool calls, although there are no tools. It must contain text.",
      ),
    };
  }
}

/**
 * Returns the conversation for a model that cannot call tools. Tool results from earlier runs become user messages in the same places.
 * Those from the current run are omitted because `toMessages` adds them.
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

/** Removes the calls. Keeps the provider metadata only if the message had no calls. */
function spoken({ role, content, providerMetadata }: AssistantMessage): readonly AssistantMessage[] {
  const said = content.filter((part) => part.type !== "tool-call");
  const own = said.length === content.length ? (providerMetadata ?? []).filter(({ item }) => !isPlanMetadata(item)) : [];
  if (own.length > 0) return [{ role, content: said, providerMetadata: own }];
  return said.length === 0 ? [] : [{ role, content: said }];
}

export function userInputOf({ messages, given }: RequestTranscript): string {
  let first = given;
  while (first > 0 && messages[first - 1]?.role !== "user") first -= 1;
  while (first > 0 && messages[first - 1]?.role === "user") first -= 1;
  const said = messages.slice(first).flatMap((message) => (message.role === "user" ? [userTextOf(message)] : []));
  return said.join("\n\n");
}

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

/** Joins consecutive user messages, because many text models require alternating roles. */
export function joinUserMessages(messages: readonly Message[]): readonly Message[] {
  return groupByRole(messages).flatMap((group): readonly Message[] => {
    const said = group.flatMap((message) => (message.role === "user" ? [message.content] : []));
    return said.length < 2 ? group : [joinContents(said)];
  });
}

function joinContents(contents: readonly UserMessage["content"][]): UserMessage {
  const texts = contents.filter((content) => typeof content === "string");
  if (texts.length < contents.length) return { role: "user", content: contents.flatMap(partsOf) };
  return { role: "user", content: texts.filter((text) => text !== "").join("\n\n") };
}
