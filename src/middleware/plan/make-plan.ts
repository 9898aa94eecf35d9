import { type FinishReason, type Message, type ModelChunk, type ModelRequest, providerError } from "../../core/index.ts";
import { hiddenContent, isContent } from "../../shared/texts.ts";
import { isRecord } from "../../core/kit.ts";
import { dropPromise } from "../../shared/promises.ts";
import { PlanScanner, ThoughtFilter } from "./plan-scanner.ts";
import { type Asking, mayAskOn, readChunks } from "./planner-request.ts";
import { type DecisionRead, readDecision } from "./read-decision.ts";
import { joinUserMessages } from "./ask-for-answer.ts";
import type { MadePlan } from "./plan-record.ts";
import type { Planner, PlannerInput, PlannerPrompt } from "./planner-prompt.ts";

type PlanEnd =
  | { readonly kind: "plan"; readonly read: DecisionRead; readonly text: string }
  | { readonly kind: "ended"; readonly chunks: readonly ModelChunk[] };

type FinishChunk = Extract<ModelChunk, { type: "finish" }>;

/** An empty chunk sent in place of a hidden one, so that the stream's timeouts notice that something arrived. */
const emptyContent: ModelChunk = { type: "reasoning-delta", text: "" };

async function* askForPlan(
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
  "request-adjusted": false,
  "attempt-start": false,
  "attempt-discarded": false,
  error: false,
};

/**
 * Messages to the model about a plan, by finish reason. The model gets the message and plans again. After any other abnormal finish reason,
 * the iteration ends with that reason.
 */
const problems: { readonly [Reason in FinishReason]?: string } = {
  length: "The plan was cut off at the token limit.",
  paused: "The plan was cut off.",
  continue: "The plan was cut off.",
  "malformed-call": "The answer is a tool call instead of a plan.",
};

class PlanDraft {
  readonly #scanner = new PlanScanner();
  readonly #thoughts = new ThoughtFilter();
  #text = "";
  #refusal = "";
  finish: FinishChunk | undefined;

  /** True if the plan says "response". No tool runs then, regardless of the text that follows. */
  get isOver(): boolean {
    return this.#scanner.isLeading && this.#scanner.isResponse;
  }

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
    // Some models refuse in plain text, so the text counts as the refusal if there is no other.
    const refusal = reason === "refusal" && this.#refusal === "" ? this.#text : this.#refusal;
    return { kind: "ended", chunks: refusal === "" ? [finish] : [{ type: "refusal-delta", text: refusal }, finish] };
  }

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

export interface PlanSettings {
  readonly prompt: (input: PlannerInput) => PlannerPrompt;
  readonly planner: Planner | undefined;
  readonly planRetries: number;
  readonly closesEarly: boolean;
}

interface Planning extends PlanSettings {
  readonly input: PlannerInput;
  readonly chosen: string | undefined;
}

type Chunks<End> = AsyncGenerator<ModelChunk, End, undefined>;

export async function* makePlan(asking: Asking, request: ModelRequest, planning: Planning): Chunks<MadePlan | "ended"> {
  const { planner, input, chosen, planRetries, closesEarly } = planning;
  if (planner !== undefined) return yield* callPlanner(asking, planner, { input, chosen });
  const { system, user } = callPrompt(planning);
  const messages: readonly Message[] = [...input.conversation, { role: "user", content: user }];
  let complaint: readonly Message[] = [];
  for (let tries = 1; ; tries += 1) {
    const asked = joinUserMessages([...messages, ...complaint]);
    const end = yield* askForPlan(
      asking,
      { ...request, system: joinTexts(request.system, system), messages: asked },
      closesEarly,
    );
    if (end.kind === "ended") {
      yield* end.chunks;
      return "ended";
    }
    const { text } = end;
    const read = allow(end.read, chosen);
    if (read.kind === "decision") return { decision: read.decision, text };
    const { problem } = read;
    if (tries > planRetries || !mayAskOn(asking)) {
      yield noPlan(`The model sent no valid plan in ${tries} ${tries === 1 ? "try" : "tries"}: ${problem}`);
      return "ended";
    }
    // Sends only the newest unreadable plan back, so that requests do not repeat all of them.
    complaint = toComplaint(text, problem);
  }
}

function allow(read: DecisionRead, chosen: string | undefined): DecisionRead {
  if (chosen === undefined || read.kind === "invalid") return read;
  const isChosen = read.decision.execution_commands.every(({ tool_name }) => tool_name === chosen);
  return isChosen ? read : { kind: "invalid", problem: `Only the tool "${chosen}" may be used now.` };
}

/** Calls the `prompt` option, and checks its result, because a missing string would be sent as "undefined". */
function callPrompt({ prompt, input }: Planning): PlannerPrompt {
  const made: unknown = prompt(input);
  dropPromise(made);
  if (isRecord(made) && typeof made["system"] === "string" && typeof made["user"] === "string") {
    return { system: made["system"], user: made["user"] };
  }
  throw new TypeError(
    'The function "prompt" must synchronously return an object with the string properties "system" and "user".',
  );
}

function joinTexts(first: string | undefined, second: string): string {
  return first === undefined || first === "" ? second : `${first}\n\n${second}`;
}

function noPlan(message: string): ModelChunk {
  return { type: "error", error: providerError("no-output", message) };
}

function toComplaint(text: string, problem: string): readonly Message[] {
  const note: Message = { role: "user", content: `${problem} Send the complete plan again as one JSON object.` };
  return text.trim() === "" ? [note] : [{ role: "assistant", content: [{ type: "text", text }] }, note];
}

/** Calls the caller's planning function. If it fails, the iteration ends with a provider error. */
async function* callPlanner(
  { call, exit }: Asking,
  planner: Planner,
  { input, chosen }: Pick<Planning, "input" | "chosen">,
): Chunks<MadePlan | "ended"> {
  const answered: unknown = planner(input, { signal: call.signal, heartbeat: () => call.heartbeat() });
  const value = await exit.until(answered);
  call.heartbeat();
  const read = allow(readDecision(value), chosen);
  if (read.kind === "decision") return { decision: read.decision, text: "" };
  yield noPlan(`The planner returned no valid plan: ${read.problem}`);
  return "ended";
}
