// A plan of one pass: from the model, asked again where its plan cannot be read, or from a function of the caller's own.

import type { Message } from "../contract/message.ts";
import type { ModelChunk, ModelRequest } from "../contract/provider.ts";
import { providerError } from "../errors/provider-error.ts";
import { isThenable } from "../kit/is-thenable.ts";
import { conversationOf } from "./plan-messages.ts";
import type { MadePlan } from "./plan-record.ts";
import { askForPlan } from "./plan-round.ts";
import type { Planner, PlannerInput } from "./planner-input.ts";
import type { PlannerPrompt } from "./planner-prompt.ts";
import type { Asking } from "./read-chunks.ts";
import { type DecisionRead, readDecision } from "./read-decision.ts";

/** How plans are made. */
export interface PlanSettings {
  readonly prompt: (input: PlannerInput) => PlannerPrompt;
  readonly planner: Planner | undefined;
  readonly planRetries: number;
  readonly closesEarly: boolean;
}

interface Planning extends PlanSettings {
  readonly input: PlannerInput;
}

type Chunks<End> = AsyncGenerator<ModelChunk, End, undefined>;

/** Makes a plan, however often it takes to ask for it. "ended" where the stream is over without one. */
export async function* makePlan(asking: Asking, request: ModelRequest, planning: Planning): Chunks<MadePlan | "ended"> {
  if (planning.planner !== undefined) return yield* callPlanner(asking, request, { ...planning, planner: planning.planner });
  const { prompt, input, planRetries, closesEarly } = planning;
  const { system, user } = checkPrompt(prompt(input));
  let messages: readonly Message[] = [...conversationOf(request.messages), { role: "user", content: user }];
  const asked = { ...request, system: joinTexts(request.system, system), tools: [], toolChoice: undefined };
  for (let tries = 1; ; tries += 1) {
    const planRequest = { ...asked, messages };
    const end = yield* askForPlan(asking, planRequest, closesEarly);
    if (end.kind === "ended") {
      yield* end.chunks;
      return "ended";
    }
    const { text } = end;
    if (end.kind === "closed") {
      yield asking.account.close(planRequest, text);
      return { decision: { next_action: "response", execution_commands: [] }, text };
    }
    yield* asking.account.end(planRequest, text);
    const read = allow(end.read, request.toolChoice);
    if (read.kind === "decision") return { decision: read.decision, text };
    const { problem } = read;
    if (tries > planRetries) {
      yield noPlan(`The model gave no plan in ${tries} ${tries === 1 ? "try" : "tries"}: ${problem}`);
      return "ended";
    }
    messages = [...messages, ...toComplaint(text, problem)];
  }
}

/** A plan for another tool than the one that was chosen is none. */
function allow(read: DecisionRead, choice: ModelRequest["toolChoice"]): DecisionRead {
  if (typeof choice !== "object" || read.kind === "invalid") return read;
  const isChosen = read.decision.execution_commands.every(({ tool_name }) => tool_name === choice.name);
  return isChosen ? read : { kind: "invalid", problem: `No other tool than "${choice.name}" may be used now.` };
}

/** A prompt that is not there would be sent as "undefined". */
function checkPrompt(prompt: PlannerPrompt): PlannerPrompt {
  const { system, user }: { readonly system?: unknown; readonly user?: unknown } = prompt;
  if (typeof system === "string" && typeof user === "string") return prompt;
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

interface CallingPlanner extends Planning {
  readonly planner: Planner;
}

/** A planner of the caller's own. What it throws ends the pass as an error of the provider. */
async function* callPlanner(
  { call, exit }: Asking,
  { toolChoice }: ModelRequest,
  { planner, input }: CallingPlanner,
): Chunks<MadePlan | "ended"> {
  const answered = planner(input, { signal: call.signal, heartbeat: () => call.heartbeat() });
  const value: unknown = isThenable(answered) ? await exit.until(answered) : answered;
  call.heartbeat();
  const read = allow(readDecision(value), toolChoice);
  if (read.kind === "decision") return { decision: read.decision, text: "" };
  yield noPlan(`The planner gave no plan: ${read.problem}`);
  return "ended";
}
