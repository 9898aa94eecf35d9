// Fits a request's settings to the model: removes or replaces settings that the model refuses, and reports each change.

import { isForced, toForcedText } from "../shared/forced-choice.ts";
import { isRecord } from "../core/kit.ts";
import type { RequestChange } from "../core/types/provider.ts";
import type { Json, ModelRequest, ToolChoice } from "../core/index.ts";
import type { ClaudeFacts, ClaudeThinking } from "../services/claude-models.ts";
import { type AnthropicThinking, configOf, type MessagesSettings } from "./messages-options.ts";

/** The fields of a request that depend on the model. */
export interface FittedRequest {
  readonly max_tokens: number;
  readonly thinking?: AnthropicThinking;
  readonly tool_choice?: Json;
  readonly temperature?: number | undefined;
  readonly top_p?: number | undefined;
}

export interface FitPorts {
  readonly settings: MessagesSettings;
  /** True if the final assistant message does not begin with thinking, although the request ends with results of its calls. */
  readonly lacksThinking: boolean;
  /** True to ask the service to drop thinking that no longer fits the request. */
  readonly dropsUnfit: boolean;
  /** True if the service refuses the `thinking.display` field. */
  readonly refusesDisplay: boolean;
  report(change: RequestChange): void;
}

export interface Fit {
  readonly fields: FittedRequest;
  /** The text that asks the model to call a tool. Set if the model refuses a forced call. */
  readonly instruction: string | undefined;
  /** True if the request asks the service to drop thinking that no longer fits the request. */
  readonly asksToDrop: boolean;
}

export function fitRequest(request: ModelRequest, ports: FitPorts): Fit {
  const { settings = {}, toolChoice } = request;
  const extra = settings.extra?.["thinking"];
  const hasTools = request.tools.length + ports.settings.serverTools.length > 0;
  const choice = hasTools ? toolChoice : undefined;
  const own = extra === undefined ? fitThinking(choice, configOf(request)["effort"], ports) : undefined;
  const used = extra === undefined ? own : extra;
  const { fields: choiceFields, instruction } = fitChoice(choice, used, ports);
  const fields = {
    max_tokens: fitMaxTokens(settings.maxOutputTokens, budgetOf(used), ports.settings),
    ...(own === undefined ? {} : { thinking: own }),
    ...choiceFields,
    ...fitSampling(request, typeOf(used), ports),
  };
  return { fields, instruction, asksToDrop: isRecord(used) && used["block_binding"] !== undefined };
}

function typeOf(thinking: Json | AnthropicThinking | undefined): string | undefined {
  return isRecord(thinking) && typeof thinking["type"] === "string" ? thinking["type"] : undefined;
}

function budgetOf(thinking: Json | AnthropicThinking | undefined): number {
  const budget = isRecord(thinking) && thinking["type"] === "enabled" ? thinking["budget_tokens"] : undefined;
  return typeof budget === "number" ? budget : 0;
}

/**
 * Adds the thinking budget to the answer's token limit, because the service counts thinking as output and refuses a budget of `max_tokens`
 * or more.
 */
function fitMaxTokens(asked: number | undefined, budget: number, { maxTokens, facts }: MessagesSettings): number {
  if (asked === undefined && maxTokens > budget) return maxTokens;
  const answer = asked ?? maxTokens;
  return Math.max(answer, Math.min(answer + budget, facts?.maxOutput ?? Number.POSITIVE_INFINITY));
}

const knownTypes: readonly string[] = ["adaptive", "enabled", "disabled", "between_tools"] satisfies readonly ClaudeThinking[];

function fitThinking(choice: ToolChoice | undefined, effort: Json | undefined, ports: FitPorts): AnthropicThinking | undefined {
  const accepted = acceptThinking(effort, ports);
  if (accepted?.type === "enabled" && isForced(choice) && ports.settings.facts?.forcedChoice !== "no") {
    // The API documentation says: "Thinking may not be enabled when tool_choice forces tool use." (.../build-with-claude/thinking)
    ports.report({ by: "adapter", field: "thinking", action: "removed", reason: "forced-call" });
    return undefined;
  }
  return accepted?.type === "enabled" && ports.lacksThinking ? undefined : addControls(accepted, ports);
}

/** Adds the `display` and `block_binding` fields if they are needed. Models that need them think adaptively by default. */
function addControls(thinking: AnthropicThinking | undefined, ports: FitPorts): AnthropicThinking | undefined {
  const { settings, dropsUnfit, refusesDisplay } = ports;
  const shown = settings.facts?.hidesNotes === true && !refusesDisplay ? { display: "summarized" } : {};
  const controls = { ...shown, ...(dropsUnfit ? { block_binding: { prefix_mismatch_behavior: "drop_block" } } : {}) };
  const accepted = refusesDisplay ? withoutDisplay(thinking, ports) : thinking;
  const { type = "adaptive" } = accepted ?? {};
  const isPossible = type === "adaptive" || type === "enabled";
  return isPossible && Object.keys(controls).length > 0 ? { type, ...controls, ...accepted } : accepted;
}

function withoutDisplay(thinking: AnthropicThinking | undefined, { report }: FitPorts): AnthropicThinking | undefined {
  if (thinking?.display === undefined) return thinking;
  report({ by: "adapter", field: "thinking.display", action: "removed", reason: "unsupported" });
  return { ...thinking, display: undefined };
}

function listTypes(facts: ClaudeFacts | undefined, effort: Json | undefined): readonly string[] {
  const isCapped = facts?.capsEffort === true && (effort === "xhigh" || effort === "max");
  return isCapped ? facts.thinking.filter((type) => type === "adaptive") : (facts?.thinking ?? knownTypes);
}

/** Replaces a thinking type that the model refuses with "adaptive", or removes it if the model refuses "adaptive" too. */
function acceptThinking(
  effort: Json | undefined,
  { settings: { thinking, facts }, report }: FitPorts,
): AnthropicThinking | undefined {
  const types = listTypes(facts, effort);
  if (thinking === undefined || types.includes(thinking.type) || !knownTypes.includes(thinking.type)) return thinking;
  const isReplaced = thinking.type !== "disabled" && types.includes("adaptive");
  report({ by: "adapter", field: "thinking", action: isReplaced ? "replaced" : "removed", reason: "unsupported" });
  if (!isReplaced) return undefined;
  const { display } = thinking;
  return display === undefined ? { type: "adaptive" } : { type: "adaptive", display };
}

/**
 * If the model refuses a forced call, asks for the call with an instruction instead. Also does so if `extra` has a thinking budget, because
 * fields in `extra` are sent unchanged.
 */
function fitChoice(
  choice: ToolChoice | undefined,
  thinking: Json | AnthropicThinking | undefined,
  { settings: { facts }, report }: FitPorts,
): Pick<Fit, "instruction"> & { readonly fields: Pick<FittedRequest, "tool_choice"> } {
  if (choice === undefined) return { fields: {}, instruction: undefined };
  if (isForced(choice) && (facts?.forcedChoice === "no" || typeOf(thinking) === "enabled")) {
    report({ by: "adapter", field: "toolChoice", action: "replaced", reason: "unsupported" });
    return { fields: { tool_choice: { type: "auto" } }, instruction: toForcedText(choice) };
  }
  if (typeof choice === "object") return { fields: { tool_choice: { type: "tool", name: choice.name } }, instruction: undefined };
  return { fields: { tool_choice: { type: choice === "required" ? "any" : choice } }, instruction: undefined };
}

/** The smallest `top_p` that the service accepts while the model thinks (.../build-with-claude/thinking). */
const smallestTopP = 0.95;

function fitSampling(
  { settings: { temperature, topP } = {} }: ModelRequest,
  thinking: string | undefined,
  { settings: { facts, refusesSampling }, report }: FitPorts,
): Pick<FittedRequest, "temperature" | "top_p"> {
  const thinks = facts !== undefined && (thinking === "enabled" || thinking === "adaptive");
  const accepts = (field: string, value: number | undefined, fits: boolean): boolean => {
    if (value === undefined) return false;
    if (!refusesSampling && fits) return true;
    report({ by: "adapter", field, action: "removed", reason: "unsupported" });
    return false;
  };
  return {
    ...(accepts("temperature", temperature, !thinks || temperature === 1) ? { temperature } : {}),
    ...(accepts("topP", topP, !thinks || (topP ?? 0) >= smallestTopP) ? { top_p: topP } : {}),
  };
}
