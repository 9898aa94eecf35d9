// A provider that lets any text model use tools: it asks for a plan, turns the plan into the calls of an iteration, and asks for the answer.

import {
  assertProvider,
  checkFields,
  type Checks,
  continuesTurn,
  invalidOption,
  is,
  type ModelChunk,
  type ModelRequest,
  numberWithin,
  type Provider,
  providerError,
  type ToolDefinition,
} from "../core/entry-kit.ts";
import { makePlan, type PlanSettings } from "./make-plan.ts";
import { askForAnswer, conversationOf, userInputOf } from "./ask-for-answer.ts";
import { foldRounds, type MadePlan, toPlanMetadata } from "./plan-record.ts";
import { type Planner, type PlannerInput, plannerPrompt, type PlannerPrompt } from "./planner-prompt.ts";
import { type Asking, leavable, mayAskOn } from "./read-chunks.ts";
import { Account } from "./account.ts";

/** The options of `withPlanner`, with their defaults. */
interface IterationSettings extends PlanSettings {
  readonly maxRounds: number;
  readonly extraRequirement: string | undefined;
  readonly extraInstruction: string;
}

/** In place of an answer that the run cannot pay for. It ends with the limit as its reason. */
const noAnswer: ModelChunk = {
  type: "error",
  error: providerError("no-output", "The model planned to answer, and the limits of the run leave no request for the answer."),
};

/** Streams an iteration. Rounds are looked at before the plan, so that the last one is followed by the answer alone. */
async function* streamIteration(
  asking: Asking,
  request: ModelRequest,
  settings: IterationSettings,
): AsyncGenerator<ModelChunk, void, undefined> {
  // A call without a run has no earlier round.
  const transcript = request.transcript ?? { messages: request.messages, given: request.messages.length };
  const conversation = conversationOf(request.messages, transcript);
  const rounds = foldRounds(transcript);
  const goesOn = continuesTurn(request);
  const { maxRounds, extraRequirement, extraInstruction } = settings;
  const availableTools = [...toolsOf(request)];
  const mayPlan = availableTools.length > 0 && rounds.roundIndex < maxRounds && !goesOn;
  // The request holds the results of the tools: a planner inside that found them again would send them twice.
  const asked = { ...request, tools: [], toolChoice: undefined, transcript: undefined };
  const userInput = userInputOf(transcript);
  const makeInput = (): PlannerInput => {
    // A copy of the records: whoever plans by them changes nothing that has happened.
    const { donePlans, lastRoundRecords, roundIndex } = structuredClone(rounds);
    const { system } = request;
    return {
      userInput,
      extraRequirement,
      availableTools,
      donePlans,
      lastRoundRecords,
      roundIndex,
      maxRounds,
      system,
      conversation,
    };
  };
  const plan = mayPlan
    ? yield* makePlan(asking, asked, { ...settings, input: makeInput(), chosen: chosenTool(request) })
    : undefined;
  if (plan === "ended") return;
  if (plan?.decision.next_action === "execute") yield* toCalls(plan);
  else if (plan !== undefined && settings.planner === undefined && !mayAskOn(asking)) yield noAnswer;
  else yield* askForAnswer(asking, asked, { conversation, rounds, plan, goesOn, extraInstruction });
}

/** The one tool that may be used, where there is one. */
function chosenTool({ toolChoice }: ModelRequest): string | undefined {
  return typeof toolChoice === "object" ? toolChoice.name : undefined;
}

/** The commands that may be planned. */
function toolsOf(request: ModelRequest): readonly ToolDefinition[] {
  const { tools, toolChoice } = request;
  if (toolChoice === "none") return [];
  const chosen = chosenTool(request);
  return chosen === undefined ? tools : tools.filter(({ name }) => name === chosen);
}

/** The commands as the calls of this iteration. */
function* toCalls(plan: MadePlan): Generator<ModelChunk, void, undefined> {
  yield toPlanMetadata(plan);
  for (const [index, { tool_name, tool_kwargs }] of plan.decision.execution_commands.entries()) {
    yield { type: "call-ready", key: `plan_${index}`, name: tool_name, args: tool_kwargs };
  }
  yield { type: "finish", reason: "tool-calls" };
}

/** How `withPlanner` plans. */
export interface PlannerOptions {
  /** Rounds that may run tools, for each run. Then the answer is asked for without a plan. Default 5. */
  readonly maxRounds?: number | undefined;
  /** False: every request goes to the provider as it is. Default true. */
  readonly enabled?: boolean | undefined;
  /** Instructions for the planner besides the request of the user. */
  readonly extraRequirement?: string | undefined;
  /** Instructions for the answering model about the results of the tools. Default: to answer from them. */
  readonly extraInstruction?: string | undefined;
  /** Instructions for the planning model. Default `plannerPrompt`. */
  readonly prompt?: ((input: PlannerInput) => PlannerPrompt) | undefined;
  /** Plans in place of the model. */
  readonly planner?: Planner | undefined;
  /** How often a model is asked again whose plan cannot be read, in each iteration. Default 2. */
  readonly planRetries?: number | undefined;
  /** Whether a plan is read no further than to "response". Default true. */
  readonly closesEarly?: boolean | undefined;
}

const checks: Checks<PlannerOptions> = {
  maxRounds: numberWithin({ min: 1 }),
  enabled: is.flag,
  extraRequirement: is.text,
  extraInstruction: is.text,
  prompt: is.fn,
  planner: is.fn,
  planRetries: numberWithin({ min: 0, infinite: false }),
  closesEarly: is.flag,
};

/** The options about planning by the model. */
const notRead = ["prompt", "planRetries", "closesEarly"] as const;

const instruction =
  "action_results holds what tools gave for this task, by what they were asked for. Answer the user from it. Where it holds an error, or not what was asked for, say so; do not claim anything that is not there.";

/**
 * Makes a provider of one whose model cannot call tools. Each iteration asks the model for a plan, `{ next_action, execution_commands }`; the
 * commands of the plan are the calls of the iteration, with all gates, approvals, limits and records of the run. A plan that says "response",
 * or has nothing to run, is followed by a request for the answer in the same iteration, with what the tools gave. The wrapper keeps no state:
 * each request reads the rounds so far from the transcript, so that a run is resumed like every other.
 *
 * The plan is a part of the provider metadata of its turn, and never text. `planLogs(result)` gives what was planned and what came of it. A plan that
 * cannot be read is asked for again, then ends the iteration with an error, "no-output". The tokens of a plan that is closed early are
 * estimated where the service has not said them.
 *
 * Throws LoopError "invalid-option" or "unknown-option" at once where an argument is wrong.
 *
 * @example
 * const provider = withPlanner(openaiChat({ client, model: "a-model-without-tools" }), { maxRounds: 3 });
 * const result = await runToolLoop({ provider, tools, messages });
 */
export function withPlanner(provider: Provider, options: PlannerOptions = {}): Provider {
  assertProvider("provider", provider);
  checkFields("options", options, checks);
  const unread = notRead.find((name) => options.planner !== undefined && options[name] !== undefined);
  if (unread !== undefined) throw invalidOption(unread, 'left out where "planner" plans', options[unread]);
  if (options.enabled === false) return provider;
  const { id, model, family } = provider;
  const settings = {
    maxRounds: options.maxRounds ?? 5,
    extraRequirement: options.extraRequirement,
    extraInstruction: options.extraInstruction ?? instruction,
    prompt: options.prompt ?? plannerPrompt,
    planner: options.planner,
    planRetries: options.planRetries ?? 2,
    closesEarly: options.closesEarly ?? true,
  };
  return {
    id,
    model,
    ...(family === undefined ? {} : { family }),
    stream: (request, call) =>
      leavable((exit) => streamIteration({ provider, call, exit, account: new Account(provider) }, request, settings)),
  };
}
