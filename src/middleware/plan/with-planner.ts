import { assertProvider } from "../../shared/errors/provider-checks.ts";
import { checkFields, type Checks, invalidOption, is, wrapProvider } from "../../core/kit.ts";
import { continuesMessage } from "../../shared/attempt-log.ts";
import { type ModelChunk, type ModelRequest, type Provider, providerError, type ToolDefinition } from "../../core/index.ts";
import { makePlan, type PlanSettings } from "./make-plan.ts";
import { askForAnswer, conversationOf, userInputOf } from "./ask-for-answer.ts";
import { foldRounds, type MadePlan, toPlanMetadata } from "./plan-record.ts";
import { type Planner, type PlannerInput, plannerPrompt, type PlannerPrompt } from "./planner-prompt.ts";
import { Account, type Asking, leavable, mayAskOn } from "./planner-request.ts";

interface IterationSettings extends PlanSettings {
  readonly maxRounds: number;
  readonly extraRequirement: string | undefined;
  readonly extraInstruction: string;
}

/** The error that replaces the answer if the run's limits allow no more requests. The run then ends with the limit as its reason. */
const noAnswer: ModelChunk = {
  type: "error",
  error: providerError("no-output", "The plan was to answer now, but the run's limits allow no other request. Raise them."),
};

/** Requests a plan, then the answer. After `maxRounds` plans with tool calls, requests only the answer. */
async function* streamIteration(
  asking: Asking,
  request: ModelRequest,
  settings: IterationSettings,
): AsyncGenerator<ModelChunk, void, undefined> {
  // A request outside a run has no transcript, so all its messages count as given, and no rounds count as done.
  const transcript = request.transcript ?? { messages: request.messages, given: request.messages.length };
  const conversation = conversationOf(request.messages, transcript);
  const rounds = foldRounds(transcript);
  const goesOn = continuesMessage(request);
  const { maxRounds, extraRequirement, extraInstruction } = settings;
  const availableTools = [...toolsOf(request)];
  const mayPlan = availableTools.length > 0 && rounds.roundIndex < maxRounds && !goesOn;
  // Removes the transcript, because an inner `withPlanner` would add its tool results a second time.
  const asked = { ...request, tools: [], toolChoice: undefined, transcript: undefined };
  const userInput = userInputOf(transcript);
  const makeInput = (): PlannerInput => {
    const { donePlans, lastRoundRecords, roundIndex } = rounds;
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

function chosenTool({ toolChoice }: ModelRequest): string | undefined {
  return typeof toolChoice === "object" ? toolChoice.name : undefined;
}

function toolsOf(request: ModelRequest): readonly ToolDefinition[] {
  const { tools, toolChoice } = request;
  if (toolChoice === "none") return [];
  const chosen = chosenTool(request);
  return chosen === undefined ? tools : tools.filter(({ name }) => name === chosen);
}

function* toCalls(plan: MadePlan): Generator<ModelChunk, void, undefined> {
  yield toPlanMetadata(plan);
  for (const [index, { tool_name, tool_kwargs }] of plan.decision.execution_commands.entries()) {
    yield { type: "call-ready", key: `plan_${index}`, name: tool_name, args: tool_kwargs };
  }
  yield { type: "finish", reason: "tool-calls" };
}

/** The options for `withPlanner`. */
export interface PlannerOptions {
  /**
   * The maximum number of rounds that run tools, per run. After these rounds, the answer is requested without a plan. Default 5.
   */
  readonly maxRounds?: number | undefined;
  /** Set to `false` to pass every request to the provider unchanged. Default true. */
  readonly enabled?: boolean | undefined;
  /** Instructions for the planner, in addition to the user's request. Default: none. */
  readonly extraRequirement?: string | undefined;
  /** Instructions for the answering model about the tool results. By default, the model must answer the user from the results. */
  readonly extraInstruction?: string | undefined;
  /** Returns the instructions for the planning model. Default `plannerPrompt`. */
  readonly prompt?: ((input: PlannerInput) => PlannerPrompt) | undefined;
  /** A function that makes the plans instead of the model. Default: none. */
  readonly planner?: Planner | undefined;
  /** The maximum number of times that an unreadable plan is requested again, per iteration. Default 2. */
  readonly planRetries?: number | undefined;
  /** Set to `false` to read every plan to its end. By default, a plan's stream is closed when the plan says "response". */
  readonly closesEarly?: boolean | undefined;
}

const checks: Checks<PlannerOptions> = {
  maxRounds: { min: 1 },
  enabled: is.flag,
  extraRequirement: is.text,
  extraInstruction: is.text,
  prompt: is.fn,
  planner: is.fn,
  planRetries: { min: 0, infinite: false },
  closesEarly: is.flag,
};

/** Options that apply only to plans made by the model. They are rejected if `planner` is set. */
const notRead = ["prompt", "planRetries", "closesEarly"] as const;

const instruction =
  "action_results contains the tool results for this task. The key of each result is the purpose of its call. Use them to answer the user. If a result is an error or misses its purpose, say so. Claim nothing that the results do not show.";

/**
 * Wraps a provider whose model cannot call tools, so that runs with the returned provider can use tools.
 *
 * Each iteration requests a plan, `{ next_action, execution_commands }`. The plan's commands become the iteration's tool
 * calls. All of the run's gates, approvals, limits and records apply to these calls. If the plan says "response" or has no
 * commands, the answer is requested in the same iteration, together with the tool results. The wrapper keeps no state: each request
 * reads the earlier rounds from the transcript. A run can therefore be resumed like any other run.
 *
 * The plan is kept in the provider metadata of its message, and is never sent as text. `planLogs(result)` returns all commands with
 * their outcomes. An unreadable plan is requested again; if all retries fail, the iteration ends with the error "no-output". If a
 * plan's stream is closed early, the plan's tokens are estimated, unless the service reported them.
 *
 * The new provider has the `id`, `model` and `family` of `provider`, but not `compacts`.
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
  if (unread !== undefined) throw invalidOption(unread, 'omitted if "planner" is set', options[unread]);
  if (options.enabled === false) return provider;
  const settings = {
    maxRounds: options.maxRounds ?? 5,
    extraRequirement: options.extraRequirement,
    extraInstruction: options.extraInstruction ?? instruction,
    prompt: options.prompt ?? plannerPrompt,
    planner: options.planner,
    planRetries: options.planRetries ?? 2,
    closesEarly: options.closesEarly ?? true,
  };
  return wrapProvider(provider, {
    // Turns off these abilities, because only the plan in the service's answer is used, and the prompt already describes the tools.
    compacts: undefined,
    searchesTools: undefined,
    structuresOutput: undefined,
    stream: (request, call) =>
      // Does not change a request with a `purpose`, such as a summary, because it has no tools and thus nothing to plan.
      request.purpose !== undefined
        ? provider.stream(request, call)
        : leavable((exit) => streamIteration({ provider, call, exit, account: new Account(provider) }, request, settings)),
  });
}
