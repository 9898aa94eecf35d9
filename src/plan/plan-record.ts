// The outcomes of the commands of all plans, read from the transcript. Planners and answering models see these; there is no other
// state.

import {
  type AssistantMessage,
  type ContentPart,
  hasSucceeded,
  isRecord,
  type Json,
  type LoopResult,
  memoize,
  type Message,
  type ModelChunk,
  readAssistantMessage,
  type RequestTranscript,
  textOf,
  type ToolCallPart,
  type ToolMessage,
  type ToolResultPart,
  type UnknownRecord,
} from "../core/entry-kit.ts";
import type { PlanDecision } from "./read-decision.ts";

/** One command of a plan, with its outcome. */
export interface PlanRecord {
  readonly purpose: string;
  readonly tool_name: string;
  /** The arguments of the tool, as edited by an approval if there was one. */
  readonly kwargs: Json;
  readonly todo_suggestion: string;
  readonly next: string;
  /** True if the outcome of the call is a success. */
  readonly success: boolean;
  /** The result of the tool; null if the call failed. With content: `{ result, content }`, with media as a note. */
  readonly result: Json;
  /** Why the call failed; empty if it did not. */
  readonly error: string;
}

/** The progress of a run. */
export interface PlanRounds {
  /** Records of all calls of this run. */
  readonly donePlans: readonly PlanRecord[];
  /** Records of the round before this one only. */
  readonly lastRoundRecords: readonly PlanRecord[];
  /** The number of plans of this run that had commands. */
  readonly roundIndex: number;
}

/** Identifies a plan in the provider metadata of a message. */
const planType = "turnwright.plan";

/** A finished plan. */
export interface MadePlan {
  readonly decision: PlanDecision;
  /** The text of the planning model; empty if a function planned. */
  readonly text: string;
}

/** Makes a part of the provider metadata from a plan. */
export function toPlanMetadata({ decision, text }: MadePlan): ModelChunk {
  const { next_action, execution_commands } = decision;
  const commands = execution_commands.map(({ purpose, todo_suggestion, next }) => ({ purpose, todo_suggestion, next }));
  return { type: "provider-metadata", item: { type: planType, next_action, commands, text } };
}

/** True if a part of the provider metadata is a plan, and therefore not for a model. */
export function isPlanMetadata(item: Json): boolean {
  return isRecord(item) && item["type"] === planType;
}

/**
 * Returns the records of a run, in the order of its calls: the commands of its plans, and their outcomes. Equal records are kept.
 * For runs with `withPlanner`; messages before the run are ignored.
 *
 * @example console.table(planLogs(result).map(({ purpose, success }) => ({ purpose, success })));
 */
export function planLogs({ messages, streamResults }: Pick<LoopResult, "messages" | "streamResults">): readonly PlanRecord[] {
  const own = new Set(streamResults.flatMap(({ calls }) => calls.map(({ callId }) => callId)));
  return turnsOf(messages).flatMap(({ plan, callIds, records }) =>
    plan === undefined ? [] : records.filter((_, index) => own.has(callIds[index] ?? "")),
  );
}

/** Reads the rounds from the run's own part of a transcript. */
export function foldRounds({ messages, given }: RequestTranscript): PlanRounds {
  const turns = turnsOf(messages.slice(given));
  const rounds = turns.filter(({ plan }) => plan !== undefined);
  return {
    donePlans: turns.flatMap(({ records }) => records),
    lastRoundRecords: rounds.at(-1)?.records ?? [],
    roundIndex: rounds.length,
  };
}

/** An assistant message with calls. */
interface CallingMessage {
  /** The plan of the calls, if there was one. */
  readonly plan: UnknownRecord | undefined;
  readonly callIds: readonly string[];
  readonly records: readonly PlanRecord[];
}

function turnsOf(messages: readonly Message[]): readonly CallingMessage[] {
  return messages.flatMap((message, at) => {
    if (message.role !== "assistant") return [];
    const records = recordsOf(message, messages[at + 1]);
    if (records.length === 0) return [];
    return [{ plan: planOf(message), callIds: readAssistantMessage(message).calls.map(({ callId }) => callId), records }];
  });
}

/** Returns the records of one message and the tool message after it. Cached, because every iteration reads all of them. */
export function recordsOf(turn: AssistantMessage, answers: Message | undefined): readonly PlanRecord[] {
  return answers?.role === "tool" ? recordsWith(turn)(answers) : toRecords(turn, []);
}

/** Cached by both messages, because an assistant message may get other results later. */
const recordsWith = memoize((turn: AssistantMessage) => memoize(({ results }: ToolMessage) => toRecords(turn, results)));

function toRecords(turn: AssistantMessage, results: readonly ToolResultPart[]): readonly PlanRecord[] {
  const { calls } = readAssistantMessage(turn);
  if (calls.length === 0) return [];
  const byId = new Map<string, ToolResultPart>();
  for (const result of results) if (!byId.has(result.callId)) byId.set(result.callId, result);
  const commands = planOf(turn)?.["commands"];
  const records = calls.map((call, index) =>
    Object.freeze(toRecord(call, Array.isArray(commands) ? commands[index] : undefined, byId.get(call.callId))),
  );
  return Object.freeze(records);
}

function planOf({ providerMetadata }: AssistantMessage): UnknownRecord | undefined {
  const item = providerMetadata?.map((part) => part.item).find(isPlanMetadata);
  return isRecord(item) ? item : undefined;
}

function toRecord(
  { name, args, approvedArgs = args }: ToolCallPart,
  command: unknown,
  answer: ToolResultPart | undefined,
): PlanRecord {
  const { purpose, todo_suggestion, next } = isRecord(command) ? command : {};
  return {
    purpose: textOf(purpose),
    tool_name: name,
    kwargs: approvedArgs,
    todo_suggestion: textOf(todo_suggestion),
    next: textOf(next),
    ...endOf(answer),
  };
}

function endOf(answer: ToolResultPart | undefined): Pick<PlanRecord, "success" | "result" | "error"> {
  if (answer === undefined) return { success: false, result: null, error: "not run" };
  const { result, content = [] } = answer;
  if (!hasSucceeded(answer)) return { success: false, result: null, error: errorOf(result) };
  return { success: true, result: content.length === 0 ? result : { result, content: content.map(toNote) }, error: "" };
}

function toNote(part: ContentPart): string {
  return part.type === "text" ? part.text : `[${part.type} of type ${part.mediaType}, which cannot be shown here]`;
}

/** Returns the text of a failure: its reason, if that says everything. */
function errorOf(result: Json): string {
  if (typeof result === "string") return result;
  if (!isRecord(result)) return JSON.stringify(result);
  const { status, reason, tool_name: _, ...more } = result;
  if (typeof reason === "string" && reason !== "") return reason;
  return typeof status === "string" && Object.keys(more).length === 0 ? status : JSON.stringify(result);
}
