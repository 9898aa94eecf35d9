// The answer: a request without tools, with what the tools gave.

import type { ModelChunk, ModelRequest } from "../contract/provider.ts";
import { conversationOf, withResults } from "./plan-messages.ts";
import { type MadePlan, type PlanRounds, toNativePlan } from "./plan-record.ts";
import { type Asking, readChunks } from "./read-chunks.ts";

/** What an answer follows. */
export interface Answering {
  readonly rounds: PlanRounds;
  /** The plan that asked for the answer, where one did. */
  readonly plan: MadePlan | undefined;
  readonly extraInstruction: string;
}

/** Asks for the answer. The model has no tools: calls that it makes up are not handed on. */
export async function* answer(
  asking: Asking,
  request: ModelRequest,
  { rounds, plan, extraInstruction }: Answering,
): AsyncGenerator<ModelChunk, void, undefined> {
  const messages = withResults(conversationOf(request.messages), rounds.donePlans, extraInstruction);
  const asked = { ...request, messages, tools: [], toolChoice: undefined };
  let draft = new AnswerDraft();
  for await (const chunk of readChunks(asking, asked)) {
    if (chunk.type === "attempt-discarded") draft = new AnswerDraft();
    if (chunk.type === "finish") {
      yield* asking.account.end(asked, draft.text);
      yield* draft.native;
      if (plan !== undefined) yield toNativePlan(plan);
    }
    if (draft.take(chunk)) yield chunk;
  }
}

/** What one attempt has written. Native parts wait for its end: those of an answer with calls in it would be sent back with the calls. */
class AnswerDraft {
  readonly #native: ModelChunk[] = [];
  #hasCalls = false;
  text = "";

  get native(): readonly ModelChunk[] {
    return this.#hasCalls ? [] : this.#native;
  }

  /** Whether a chunk is handed on at once. */
  take(chunk: ModelChunk): boolean {
    const { type } = chunk;
    if (type === "text-delta") this.text += chunk.text;
    if (type === "native") this.#native.push(chunk);
    const isCall = type === "call-start" || type === "call-args-delta" || type === "call-ready";
    this.#hasCalls ||= isCall;
    return !isCall && type !== "native";
  }
}
