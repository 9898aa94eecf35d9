// One pass: a plan whose commands become calls, or the answer.

import type { ModelChunk, ModelRequest } from "../contract/provider.ts";
import type { Message } from "../contract/message.ts";
import type { ToolDefinition } from "../contract/tool.ts";
import { providerError } from "../errors/provider-error.ts";
import { isThenable } from "../kit/is-thenable.ts";
import { continuesTurn } from "../providers/attempt-reader.ts";
import { conversationOf, userInputOf, withResults } from "./plan-messages.ts";
import { foldRounds, type PlanRounds, toNativePlan } from "./plan-record.ts";
import { askForPlan } from "./plan-round.ts";
import type { Planner, PlannerInput } from "./planner-input.ts";
import type { PlannerPrompt } from "./planner-prompt.ts";
import { type Asking, readChunks } from "./read-chunks.ts";
import { type PlanDecision, readDecision } from "./read-decision.ts";

/** The options of `withPlanner`, with their defaults. */
export interface PlannerSettings {
  readonly maxRounds: number;
  readonly extraRequirement: string | undefined;
  readonly extraInstruction: string;
  readonly prompt: (input: PlannerInput) => PlannerPrompt;
  readonly planner: Planner | undefined;
  readonly planRetries: number;
  readonly closesEarly: boolean;
}

type Chunks<End> = AsyncGenerator<ModelChunk, End, undefined>;

/** A plan that was made, and what was written of it. */
interface MadePlan {
  readonly decision: PlanDecision;
  readonly text: string;
}

/** Streams a pass. Rounds are looked at before the plan, so that the last one is followed by the answer alone. */
export async function* streamPass(asking: Asking, request: ModelRequest, settings: PlannerSettings): Chunks<void> {
  const rounds = foldRounds(request.messages, request.iteration);
  const tools = toolsOf(request);
  const plans = tools.length > 0 && rounds.roundIndex < settings.maxRounds && !continuesTurn(request);
  const input = { ...rounds, ...inputOf(request, settings), availableTools: [...tools] };
  const plan = plans ? yield* makePlan(asking, request, { ...settings, input }) : undefined;
  if (plan === "ended") return;
  if (plan?.decision.next_action === "execute") yield* toCalls(plan, request);
  else yield* answer(asking, request, { ...settings, rounds, plan });
}

/** What may be planned. */
function toolsOf({ tools, toolChoice }: ModelRequest): readonly ToolDefinition[] {
  if (toolChoice === "none") return [];
  return typeof toolChoice === "object" ? tools.filter(({ name }) => name === toolChoice.name) : tools;
}

function inputOf(
  { messages, iteration }: ModelRequest,
  { extraRequirement, maxRounds }: PlannerSettings,
): Pick<PlannerInput, "userInput" | "extraRequirement" | "maxRounds"> {
  return { userInput: userInputOf(messages, iteration), extraRequirement, maxRounds };
}

interface Planning extends PlannerSettings {
  readonly input: PlannerInput;
}

/** "ended" where the stream is over without a plan. */
async function* makePlan(asking: Asking, request: ModelRequest, planning: Planning): Chunks<MadePlan | "ended"> {
  if (planning.planner !== undefined) return yield* callPlanner(asking, planning.planner, planning.input);
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
    if (end.read.kind === "decision") return { decision: end.read.decision, text };
    const { problem } = end.read;
    if (tries > planRetries) {
      yield noPlan(`The model gave no plan in ${tries} ${tries === 1 ? "try" : "tries"}: ${problem}`);
      return "ended";
    }
    messages = [...messages, ...toComplaint(text, problem)];
  }
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

/** A planner of the caller's own. What it throws ends the pass as an error of the provider. */
async function* callPlanner({ call, exit }: Asking, planner: Planner, input: PlannerInput): Chunks<MadePlan | "ended"> {
  const answered = planner(input, { signal: call.signal, heartbeat: () => call.heartbeat() });
  const value: unknown = isThenable(answered) ? await exit.until(answered) : answered;
  call.heartbeat();
  const read = readDecision(value);
  if (read.kind === "decision") return { decision: read.decision, text: "" };
  yield noPlan(`The planner gave no plan: ${read.problem}`);
  return "ended";
}

function toNative({ decision, text }: MadePlan, { iteration }: ModelRequest): ModelChunk {
  return { type: "native", item: toNativePlan(decision, { text, iteration }) };
}

/** The commands as the calls of this pass. */
function* toCalls(plan: MadePlan, request: ModelRequest): Generator<ModelChunk, void, undefined> {
  yield toNative(plan, request);
  for (const [index, { tool_name, tool_kwargs }] of plan.decision.execution_commands.entries()) {
    yield { type: "call-ready", key: `plan_${index}`, name: tool_name, args: tool_kwargs };
  }
  yield { type: "finish", reason: "tool-calls" };
}

interface Answering extends PlannerSettings {
  readonly rounds: PlanRounds;
  readonly plan: MadePlan | undefined;
}

/** Asks for the answer. The model has no tools: calls that it makes up are not handed on. */
async function* answer(asking: Asking, request: ModelRequest, { rounds, plan, extraInstruction }: Answering): Chunks<void> {
  const messages = withResults(conversationOf(request.messages), rounds.donePlans, extraInstruction);
  const asked = { ...request, messages, tools: [], toolChoice: undefined };
  let said = "";
  for await (const chunk of readChunks(asking, asked)) {
    if (chunk.type === "text-delta") said += chunk.text;
    if (chunk.type === "call-start" || chunk.type === "call-args-delta" || chunk.type === "call-ready") continue;
    if (chunk.type !== "finish") yield chunk;
    else {
      yield* asking.account.end(asked, said);
      // Last, because an attempt that is taken back takes its native parts along.
      if (plan !== undefined) yield toNative(plan, request);
      yield chunk;
    }
  }
}
