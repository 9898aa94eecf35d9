// A plan of one iteration: from the model, asked again where its plan cannot be read, or from a function of the caller's own.

import { isRecord, isThenable, type Message, type ModelChunk, type ModelRequest, providerError } from "../core/entry-kit.ts";
import { joinUserMessages } from "./plan-messages.ts";
import type { MadePlan } from "./plan-record.ts";
import { askForPlan } from "./ask-for-plan.ts";
import type { Planner, PlannerInput } from "./planner-input.ts";
import type { PlannerPrompt } from "./planner-prompt.ts";
import { type Asking, mayAskOn } from "./read-chunks.ts";
import { type DecisionRead, readDecision } from "./read-decision.ts";

/** How plans are made. */
export interface PlanSettings {
  readonly prompt: (input: PlannerInput) => PlannerPrompt;
  readonly planner: Planner | undefined;
  readonly planRetries: number;
  readonly closesEarly: boolean;
}

/** What a plan is to be made of. */
export interface Planning extends PlanSettings {
  readonly input: PlannerInput;
  /** The one tool that may be used, where there is one. */
  readonly chosen: string | undefined;
}

type Chunks<End> = AsyncGenerator<ModelChunk, End, undefined>;

/** Makes a plan, however often it takes to ask for it. "ended" where the stream is over without one. */
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
      yield noPlan(`The model gave no plan in ${tries} ${tries === 1 ? "try" : "tries"}: ${problem}`);
      return "ended";
    }
    // Only the last one: a model that writes much and no plan would be sent all of it, again and again.
    complaint = toComplaint(text, problem);
  }
}

/** A plan for another tool than the one that was chosen is none. */
function allow(read: DecisionRead, chosen: string | undefined): DecisionRead {
  if (chosen === undefined || read.kind === "invalid") return read;
  const isChosen = read.decision.execution_commands.every(({ tool_name }) => tool_name === chosen);
  return isChosen ? read : { kind: "invalid", problem: `No other tool than "${chosen}" may be used now.` };
}

/** A prompt that is not there would be sent as "undefined". */
function callPrompt({ prompt, input }: Planning): PlannerPrompt {
  const made: unknown = prompt(input);
  if (isThenable(made)) Promise.resolve(made).catch(() => {});
  if (isRecord(made) && typeof made["system"] === "string" && typeof made["user"] === "string") {
    return { system: made["system"], user: made["user"] };
  }
  throw new TypeError('The prompt() of the planner must give an object with the texts "system" and "user", at once.');
}

function joinTexts(first: string | undefined, second: string): string {
  return first === undefined || first === "" ? second : `${first}\n\n${second}`;
}

function noPlan(message: string): ModelChunk {
  return { type: "error", error: providerError("no-output", message) };
}

function toComplaint(text: string, problem: string): readonly Message[] {
  const note: Message = { role: "user", content: `${problem} Send the whole plan again, as one JSON object.` };
  return text.trim() === "" ? [note] : [{ role: "assistant", content: [{ type: "text", text }] }, note];
}

/** A planner of the caller's own. What it throws ends the iteration as an error of the provider. */
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
  yield noPlan(`The planner gave no plan: ${read.problem}`);
  return "ended";
}
