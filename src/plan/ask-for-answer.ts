// The answer: a request without tools, with what the tools gave.

import { type Message, type ModelChunk, type ModelRequest, providerError } from "../core/entry-kit.ts";
import { joinUserMessages, toResults } from "./plan-messages.ts";
import { type MadePlan, type PlanRounds, toPlanMetadata } from "./plan-record.ts";
import { type Asking, readChunks } from "./read-chunks.ts";

/** What an answer follows. */
export interface Answering {
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

/** What the tools gave comes behind the words of the user, before a turn that goes on. */
function toMessages({ conversation, rounds, goesOn, extraInstruction }: Answering): readonly Message[] {
  const { donePlans } = rounds;
  if (donePlans.length === 0) return joinUserMessages(conversation);
  const end = goesOn && conversation.at(-1)?.role === "assistant" ? conversation.length - 1 : conversation.length;
  const results = toResults(donePlans, extraInstruction);
  return joinUserMessages([...conversation.slice(0, end), results, ...conversation.slice(end)]);
}

/** What one attempt has written. Provider metadata wait for its end: those of an answer with calls in it would be sent back with the calls. */
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
