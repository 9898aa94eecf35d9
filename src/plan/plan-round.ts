// One planning request: what the model writes is read while it comes, and heard by nobody.

import type { ModelChunk, ModelRequest } from "../contract/provider.ts";
import { assertNever } from "../kit/assert-never.ts";
import { PlanScanner } from "./plan-scanner.ts";
import { type Asking, readChunks } from "./read-chunks.ts";
import { actionOf, type DecisionRead, readDecision } from "./read-decision.ts";

/** How a planning request ended. */
export type PlanEnd =
  | { readonly kind: "plan"; readonly read: DecisionRead; readonly text: string }
  /** Closed as soon as the action was known to be "response". */
  | { readonly kind: "closed"; readonly text: string }
  /** The model did not plan: the pass ends with what it said in place of a plan. */
  | { readonly kind: "ended"; readonly chunks: readonly ModelChunk[] };

type FinishChunk = Extract<ModelChunk, { type: "finish" }>;

/** In place of what is hidden: the model works, and whoever guards the stream has its turn with each chunk. Nobody hears it. */
const signOfLife: ModelChunk = { type: "reasoning-delta", text: "" };

/** Asks for a plan. Yields what bills and listeners are to know of it; a plan itself is not text. */
export async function* askForPlan(
  asking: Asking,
  request: ModelRequest,
  closesEarly: boolean,
): AsyncGenerator<ModelChunk, PlanEnd, undefined> {
  let draft = new PlanDraft();
  for await (const chunk of readChunks(asking, request)) {
    if (chunk.type === "error") return { kind: "ended", chunks: [chunk] };
    if (chunk.type === "attempt-discarded") draft = new PlanDraft();
    yield draft.take(chunk) ? signOfLife : chunk;
    if (closesEarly && draft.isResponse) return { kind: "closed", text: draft.text };
  }
  return draft.end();
}

/** What belongs to a turn that nobody hears, and what bills and listeners are to know. */
const isHidden: { readonly [Type in ModelChunk["type"]]: boolean } = {
  "text-delta": true,
  "refusal-delta": true,
  "call-start": true,
  "call-args-delta": true,
  "call-ready": true,
  native: true,
  details: true,
  finish: true,
  "reasoning-delta": false,
  "thought-log": false,
  usage: false,
  "attempt-start": false,
  "attempt-discarded": false,
  error: false,
};

/** What one attempt has written. */
class PlanDraft {
  readonly #scanner = new PlanScanner();
  #refusal = "";
  #finish: FinishChunk | undefined;
  text = "";

  get isResponse(): boolean {
    return actionOf(this.#scanner.action) === "response";
  }

  /** Whether a chunk is the plan's alone. */
  take(chunk: ModelChunk): boolean {
    if (chunk.type === "text-delta") {
      this.text += chunk.text;
      this.#scanner.push(chunk.text);
    } else if (chunk.type === "refusal-delta") this.#refusal += chunk.text;
    else if (chunk.type === "finish") this.#finish = chunk;
    return isHidden[chunk.type];
  }

  end(): PlanEnd {
    const { text } = this;
    const finish = this.#finish;
    if (finish === undefined) return { kind: "ended", chunks: [] };
    if (!couldPlan(finish)) return { kind: "ended", chunks: [...said(this.#refusal), finish] };
    const { plan, hasMore, isOpen } = this.#scanner;
    // One of them may be quoted, and nobody can tell which.
    if (hasMore) return { kind: "plan", read: { kind: "invalid", problem: "There is more than one plan." }, text };
    if (plan !== undefined) return { kind: "plan", read: readDecision(plan), text };
    const problem = isOpen || finish.reason === "length" ? "The plan was cut off." : "There is no JSON object of a plan.";
    return { kind: "plan", read: { kind: "invalid", problem }, text };
  }
}

function said(refusal: string): readonly ModelChunk[] {
  return refusal === "" ? [] : [{ type: "refusal-delta", text: refusal }];
}

/** Endings before which a plan could have been written. */
function couldPlan({ reason }: FinishChunk): boolean {
  switch (reason) {
    case "stop":
    case "tool-calls":
    case "length":
    case "paused":
    case "continue":
    case "malformed-call":
    case "unknown":
      return true;
    case "context-full":
    case "refusal":
    case "content-filter":
    case "error":
      return false;
    default:
      return assertNever(reason);
  }
}
