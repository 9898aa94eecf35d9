// One pass: a plan whose commands become calls, or the answer.

import type { ModelChunk, ModelRequest } from "../contract/provider.ts";
import type { ToolDefinition } from "../contract/tool.ts";
import { continuesTurn } from "../providers/attempt-reader.ts";
import { makePlan, type PlanSettings } from "./make-plan.ts";
import { answer } from "./plan-answer.ts";
import { userInputOf } from "./plan-messages.ts";
import { foldRounds, type MadePlan, toNativePlan } from "./plan-record.ts";
import type { Asking } from "./read-chunks.ts";

/** The options of `withPlanner`, with their defaults. */
export interface PassSettings extends PlanSettings {
  readonly maxRounds: number;
  readonly extraRequirement: string | undefined;
  readonly extraInstruction: string;
}

/** Streams a pass. Rounds are looked at before the plan, so that the last one is followed by the answer alone. */
export async function* streamPass(
  asking: Asking,
  request: ModelRequest,
  settings: PassSettings,
): AsyncGenerator<ModelChunk, void, undefined> {
  // Whoever asks without a run has no round behind it.
  const transcript = request.transcript ?? { messages: request.messages, given: request.messages.length };
  const rounds = foldRounds(transcript);
  const tools = toolsOf(request);
  const plans = tools.length > 0 && rounds.roundIndex < settings.maxRounds && !continuesTurn(request);
  const { extraRequirement, maxRounds } = settings;
  const input = { ...rounds, userInput: userInputOf(transcript), extraRequirement, maxRounds, availableTools: [...tools] };
  const plan = plans ? yield* makePlan(asking, request, { ...settings, input }) : undefined;
  if (plan === "ended") return;
  if (plan?.decision.next_action === "execute") yield* toCalls(plan);
  else yield* answer(asking, request, { rounds, plan, extraInstruction: settings.extraInstruction });
}

/** What may be planned. */
function toolsOf({ tools, toolChoice }: ModelRequest): readonly ToolDefinition[] {
  if (toolChoice === "none") return [];
  return typeof toolChoice === "object" ? tools.filter(({ name }) => name === toolChoice.name) : tools;
}

/** The commands as the calls of this pass. */
function* toCalls(plan: MadePlan): Generator<ModelChunk, void, undefined> {
  yield toNativePlan(plan);
  for (const [index, { tool_name, tool_kwargs }] of plan.decision.execution_commands.entries()) {
    yield { type: "call-ready", key: `plan_${index}`, name: tool_name, args: tool_kwargs };
  }
  yield { type: "finish", reason: "tool-calls" };
}
