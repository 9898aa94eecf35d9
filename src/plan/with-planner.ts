// A provider that lets any text model use tools: it requests a plan, turns the plan into the calls of an iteration, and requests
// the answer.

import {
  assertProvider,
  checkFields,
  type Checks,
  continuesMessage,
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

/** Sent instead of an answer that the run's limits do not allow. The run ends with the limit as its reason. */
const noAnswer: ModelChunk = {
  type: "error",
  error: providerError("no-output", "The model planned to answer, and the limits of the run leave no request for the answer."),
};

/** Streams an iteration. The rounds are counted before the plan, so that the last round is followed only by the answer. */
async function* streamIteration(
  asking: Asking,
  request: ModelRequest,
  settings: IterationSettings,
): AsyncGenerator<ModelChunk, void, undefined> {
  // A request outside a run has no earlier rounds.
  const transcript = request.transcript ?? { messages: request.messages, given: request.messages.length };
  const conversation = conversationOf(request.messages, transcript);
  const rounds = foldRounds(transcript);
  const goesOn = continuesMessage(request);
  const { maxRounds, extraRequirement, extraInstruction } = settings;
  const availableTools = [...toolsOf(request)];
  const mayPlan = availableTools.length > 0 && rounds.roundIndex < maxRounds && !goesOn;
  // Without the transcript: the request contains the results of the tools, and an inner planner would add them again.
  const asked = { ...request, tools: [], toolChoice: undefined, transcript: undefined };
  const userInput = userInputOf(transcript);
  const makeInput = (): PlannerInput => {
    // A copy of the records, so that changes by a planner do not affect them.
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

/** Returns the only tool that may be used, if `toolChoice` names one. */
function chosenTool({ toolChoice }: ModelRequest): string | undefined {
  return typeof toolChoice === "object" ? toolChoice.name : undefined;
}

/** Returns the tools that a plan may use. */
function toolsOf(request: ModelRequest): readonly ToolDefinition[] {
  const { tools, toolChoice } = request;
  if (toolChoice === "none") return [];
  const chosen = chosenTool(request);
  return chosen === undefined ? tools : tools.filter(({ name }) => name === chosen);
}

/** Converts the commands to the calls of this iteration. */
function* toCalls(plan: MadePlan): Generator<ModelChunk, void, undefined> {
  yield toPlanMetadata(plan);
  for (const [index, { tool_name, tool_kwargs }] of plan.decision.execution_commands.entries()) {
    yield { type: "call-ready", key: `plan_${index}`, name: tool_name, args: tool_kwargs };
  }
  yield { type: "finish", reason: "tool-calls" };
}

/** The options of `withPlanner`. */
export interface PlannerOptions {
  /** Most rounds that may run tools, per run. After them, the answer is requested without a plan. Default 5. */
  readonly maxRounds?: number | undefined;
  /** Set to `false` to pass every request to the provider unchanged. Default true. */
  readonly enabled?: boolean | undefined;
  /** Instructions for the planner, in addition to the user's request. */
  readonly extraRequirement?: string | undefined;
  /** Instructions for the answering model about the results of the tools. Default: to answer from them. */
  readonly extraInstruction?: string | undefined;
  /** Returns the instructions for the planning model. Default `plannerPrompt`. */
  readonly prompt?: ((input: PlannerInput) => PlannerPrompt) | undefined;
  /** Plans instead of the model. */
  readonly planner?: Planner | undefined;
  /** How often an unreadable plan is requested again, per iteration. Default 2. */
  readonly planRetries?: number | undefined;
  /** True if the stream of a plan is closed once it says "response". Default true. */
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

/** Options that only apply if the model plans. */
const notRead = ["prompt", "planRetries", "closesEarly"] as const;

const instruction =
  "action_results holds what tools gave for this task, by what they were asked for. Answer the user from it. Where it holds an error, or not what was asked for, say so; do not claim anything that is not there.";

/**
 * Makes a provider from one whose model cannot call tools. Each iteration requests a plan, `{ next_action, execution_commands }`.
 * The commands of the plan become the calls of the iteration, with all gates, approvals, limits and records of the run. After a
 * plan with "response", or without commands, the answer is requested in the same iteration, with the results of the tools. The
 * wrapper keeps no state: each request reads the rounds so far from the transcript, so that a run is resumed like any other.
 *
 * The plan is part of the provider metadata of its message, and never text. `planLogs(result)` returns the plans and their
 * outcomes. An unreadable plan is requested again, and finally ends the iteration with the error "no-output". The tokens of a
 * plan that is closed early are estimated if the service did not report them.
 *
 * Throws LoopError "invalid-option" or "unknown-option" if an argument is invalid.
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
