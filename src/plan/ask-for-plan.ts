// One planning request: what the model writes is read while it comes, and heard by nobody.

import { type FinishReason, hiddenContent, isContent, type ModelChunk, type ModelRequest } from "../core/entry-kit.ts";
import { PlanScanner } from "./plan-scanner.ts";
import { type Asking, readChunks } from "./read-chunks.ts";
import { type DecisionRead, readDecision } from "./read-decision.ts";
import { ThoughtFilter } from "./thought-filter.ts";

/** How a planning request ended. */
export type PlanEnd =
  | { readonly kind: "plan"; readonly read: DecisionRead; readonly text: string }
  /** The model did not plan: the iteration ends with what it said in place of a plan. */
  | { readonly kind: "ended"; readonly chunks: readonly ModelChunk[] };

type FinishChunk = Extract<ModelChunk, { type: "finish" }>;

/** In place of what is hidden and empty: whoever guards the stream has its turn with each chunk. */
const emptyContent: ModelChunk = { type: "reasoning-delta", text: "" };

/** Asks for a plan. Yields what bills and listeners are to know of it; a plan itself is not text. */
export async function* askForPlan(
  asking: Asking,
  request: ModelRequest,
  closesEarly: boolean,
): AsyncGenerator<ModelChunk, PlanEnd, undefined> {
  const { account } = asking;
  let draft = new PlanDraft();
  for await (const chunk of readChunks(asking, request)) {
    if (chunk.type === "error") return { kind: "ended", chunks: [chunk] };
    if (chunk.type === "attempt-discarded") draft = new PlanDraft();
    const isHidden = draft.take(chunk);
    yield isHidden ? (isContent(chunk) ? hiddenContent : emptyContent) : chunk;
    if (closesEarly && draft.isOver) {
      yield account.close();
      return draft.toResponse();
    }
  }
  if (draft.finish !== undefined) yield* account.end();
  return draft.end();
}

/** What belongs to a turn that nobody hears, and what bills and listeners are to know. */
const hidden: { readonly [Type in ModelChunk["type"]]: boolean } = {
  "text-delta": true,
  "refusal-delta": true,
  "call-start": true,
  "call-args-delta": true,
  "call-ready": true,
  "provider-metadata": true,
  details: true,
  finish: true,
  "reasoning-delta": false,
  "thought-log": false,
  usage: false,
  "attempt-start": false,
  "attempt-discarded": false,
  error: false,
};

/** Endings before which no plan was whole for sure. With any other one the model did not plan, and the iteration ends so. */
const problems: { readonly [Reason in FinishReason]?: string } = {
  length: "The plan was cut off at the limit of tokens.",
  paused: "The plan was cut off.",
  continue: "The plan was cut off.",
  "malformed-call": "There is no plan, but a call of a tool.",
};

/** What one attempt has written. */
class PlanDraft {
  readonly #scanner = new PlanScanner();
  readonly #thoughts = new ThoughtFilter();
  #text = "";
  #refusal = "";
  finish: FinishChunk | undefined;

  /** Whether nothing that may still come could make anything run. */
  get isOver(): boolean {
    return this.#scanner.isLeading && this.#scanner.isResponse;
  }

  /** Whether a chunk is the plan's alone. */
  take(chunk: ModelChunk): boolean {
    if (chunk.type === "text-delta") {
      this.#text += chunk.text;
      this.#scanner.push(this.#thoughts.take(chunk.text));
    } else if (chunk.type === "refusal-delta") this.#refusal += chunk.text;
    else if (chunk.type === "finish") this.finish = chunk;
    return hidden[chunk.type];
  }

  end(): PlanEnd {
    const { finish } = this;
    if (finish === undefined) return { kind: "ended", chunks: [] };
    const { reason } = finish;
    if (reason === "stop" || reason === "tool-calls") return this.#toPlan();
    const problem = problems[reason];
    if (problem !== undefined) return this.#toProblem(problem);
    // Models of text decline in words.
    const refusal = reason === "refusal" && this.#refusal === "" ? this.#text : this.#refusal;
    return { kind: "ended", chunks: refusal === "" ? [finish] : [{ type: "refusal-delta", text: refusal }, finish] };
  }

  /** A plan that says so runs nothing, whatever else is in it. */
  toResponse(): PlanEnd {
    return { kind: "plan", read: readDecision({ next_action: "response" }), text: this.#text };
  }

  #toPlan(): PlanEnd {
    const { isResponse, plan, problem } = this.#scanner;
    if (problem !== undefined) return this.#toProblem(problem);
    return isResponse ? this.toResponse() : { kind: "plan", read: readDecision(plan), text: this.#text };
  }

  #toProblem(problem: string): PlanEnd {
    return { kind: "plan", read: { kind: "invalid", problem }, text: this.#text };
  }
}
