// The outcomes of the commands of all plans, read from the transcript. Planners and answering models see these; nothing else is kept.

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
  readTurn,
  type RequestTranscript,
  textOf,
  type ToolCallPart,
  type ToolMessage,
  type ToolResultPart,
  type UnknownRecord,
} from "../core/entry-kit.ts";
import type { PlanDecision } from "./read-decision.ts";

/** One command of a plan, and what came of it. */
export interface PlanRecord {
  readonly purpose: string;
  readonly tool_name: string;
  /** The arguments that the tool got: where an approval has edited them, the edited ones. */
  readonly kwargs: Json;
  readonly todo_suggestion: string;
  readonly next: string;
  /** Whether the call did what it was to do, by its outcome. */
  readonly success: boolean;
  /** The result of the tool; null if the call failed. With content beside it: `{ result, content }`, with media as a note. */
  readonly result: Json;
  /** Why the call failed; empty where it did not. */
  readonly error: string;
}

/** The place of a run. */
export interface PlanRounds {
  /** Of all calls of this run. */
  readonly donePlans: readonly PlanRecord[];
  /** Of the round before this one only. */
  readonly lastRoundRecords: readonly PlanRecord[];
  /** Plans of this run that had commands. */
  readonly roundIndex: number;
}

/** By which a plan is known among the provider metadata of a turn. */
const planType = "turnwright.plan";

/** A plan that was made. */
export interface MadePlan {
  readonly decision: PlanDecision;
  /** The text of the planner; empty if a function planned. */
  readonly text: string;
}

/** A plan as a part of the provider metadata of its turn. */
export function toPlanMetadata({ decision, text }: MadePlan): ModelChunk {
  const { next_action, execution_commands } = decision;
  const commands = execution_commands.map(({ purpose, todo_suggestion, next }) => ({ purpose, todo_suggestion, next }));
  return { type: "provider-metadata", item: { type: planType, next_action, commands, text } };
}

/** Whether a part of the provider metadata is a plan, and so nothing that a model could read. */
export function isPlanMetadata(item: Json): boolean {
  return isRecord(item) && item["type"] === planType;
}

/**
 * The records of a run, in the order of its calls: what its plans asked for, and what came of it. Equal records stay. For runs over
 * `withPlanner`; turns of a conversation before the run are left out.
 *
 * @example console.table(planLogs(result).map(({ purpose, success }) => ({ purpose, success })));
 */
export function planLogs({ messages, streamResults }: Pick<LoopResult, "messages" | "streamResults">): readonly PlanRecord[] {
  const own = new Set(streamResults.flatMap(({ calls }) => calls.map(({ callId }) => callId)));
  return turnsOf(messages).flatMap(({ plan, callIds, records }) =>
    plan === undefined ? [] : records.filter((_, index) => own.has(callIds[index] ?? "")),
  );
}

/** Folds the part of a transcript that is the run's own. */
export function foldRounds({ messages, given }: RequestTranscript): PlanRounds {
  const turns = turnsOf(messages.slice(given));
  const rounds = turns.filter(({ plan }) => plan !== undefined);
  return {
    donePlans: turns.flatMap(({ records }) => records),
    lastRoundRecords: rounds.at(-1)?.records ?? [],
    roundIndex: rounds.length,
  };
}

/** A turn that called tools. */
interface CallingTurn {
  /** The plan that asked for the calls, where one did. */
  readonly plan: UnknownRecord | undefined;
  readonly callIds: readonly string[];
  readonly records: readonly PlanRecord[];
}

function turnsOf(messages: readonly Message[]): readonly CallingTurn[] {
  return messages.flatMap((message, at) => {
    if (message.role !== "assistant") return [];
    const records = recordsOf(message, messages[at + 1]);
    if (records.length === 0) return [];
    return [{ plan: planOf(message), callIds: readTurn(message).calls.map(({ callId }) => callId), records }];
  });
}

/** The records of one turn, from it and the message after it. Every iteration reads them all again, so they are made once. */
export function recordsOf(turn: AssistantMessage, answers: Message | undefined): readonly PlanRecord[] {
  return answers?.role === "tool" ? recordsWith(turn)(answers) : toRecords(turn, []);
}

/** Remembered for both messages: a turn may get other results later. */
const recordsWith = memoize((turn: AssistantMessage) => memoize(({ results }: ToolMessage) => toRecords(turn, results)));

function toRecords(turn: AssistantMessage, results: readonly ToolResultPart[]): readonly PlanRecord[] {
  const { calls } = readTurn(turn);
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

/** The text that the model would read of a failure: its reason, if that says all. */
function errorOf(result: Json): string {
  if (typeof result === "string") return result;
  if (!isRecord(result)) return JSON.stringify(result);
  const { status, reason, tool_name: _, ...more } = result;
  if (typeof reason === "string" && reason !== "") return reason;
  return typeof status === "string" && Object.keys(more).length === 0 ? status : JSON.stringify(result);
}
