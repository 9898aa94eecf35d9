// One iteration: a plan whose commands become calls, or the answer.

import { continuesTurn, type ModelChunk, type ModelRequest, providerError, type ToolDefinition } from "../core/entry-kit.ts";
import { makePlan, type PlanSettings } from "./make-plan.ts";
import { askForAnswer } from "./ask-for-answer.ts";
import { conversationOf, userInputOf } from "./plan-messages.ts";
import { foldRounds, type MadePlan, toPlanMetadata } from "./plan-record.ts";
import type { PlannerInput } from "./planner-input.ts";
import { type Asking, mayAskOn } from "./read-chunks.ts";

/** The options of `withPlanner`, with their defaults. */
export interface IterationSettings extends PlanSettings {
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
export async function* streamIteration(
  asking: Asking,
  request: ModelRequest,
  settings: IterationSettings,
): AsyncGenerator<ModelChunk, void, undefined> {
  // Whoever asks without a run has no round behind it.
  const transcript = request.transcript ?? { messages: request.messages, given: request.messages.length };
  const conversation = conversationOf(request.messages, transcript);
  const rounds = foldRounds(transcript);
  const goesOn = continuesTurn(request);
  const { maxRounds, extraRequirement, extraInstruction } = settings;
  const availableTools = [...toolsOf(request)];
  const mayPlan = availableTools.length > 0 && rounds.roundIndex < maxRounds && !goesOn;
  // What the tools gave is in what is sent: a planner inside that found it again would send it twice.
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

/** What may be planned. */
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
