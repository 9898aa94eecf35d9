import type {
  AssistantMessage,
  ContentPart,
  Json,
  LoopResult,
  Message,
  ModelChunk,
  ModelRequest,
  ToolMessage,
  ToolResultPart,
} from "../../core/index.ts";
import { hasSucceeded, isRecord, memoize, readAssistantMessage, textOf, type ToolCallPart } from "../../core/kit.ts";
import type { UnknownRecord } from "../../shared/guards.ts";
import type { PlanDecision } from "./read-decision.ts";

export type RequestTranscript = NonNullable<ModelRequest["transcript"]>;

/** One command from a plan, with its outcome. */
export interface PlanRecord {
  readonly purpose: string;
  readonly tool_name: string;
  /** The tool's arguments, including changes that an approval made. */
  readonly kwargs: Json;
  readonly todo_suggestion: string;
  readonly next: string;
  /** True if the call succeeded. */
  readonly success: boolean;
  /**
   * The tool's result, or null if the call failed. If the tool also returned content, this field is `{ result, content }`, with
   * notes instead of media.
   */
  readonly result: Json;
  /** The reason for the failure, or "" if the call succeeded. */
  readonly error: string;
}

/** A run's rounds so far. Each round makes one plan and runs its commands. */
export interface PlanRounds {
  /** The records of all calls in this run. */
  readonly donePlans: readonly PlanRecord[];
  /** The records of the previous round only. */
  readonly lastRoundRecords: readonly PlanRecord[];
  /** The number of plans in this run that had commands. */
  readonly roundIndex: number;
}

const planType = "turnwright.plan";

export interface MadePlan {
  readonly decision: PlanDecision;
  readonly text: string;
}

export function toPlanMetadata({ decision, text }: MadePlan): ModelChunk {
  const { next_action, execution_commands } = decision;
  const commands = execution_commands.map(({ purpose, todo_suggestion, next }) => ({ purpose, todo_suggestion, next }));
  return { type: "provider-metadata", item: { type: planType, next_action, commands, text } };
}

export function isPlanMetadata(item: Json): boolean {
  return isRecord(item) && item["type"] === planType;
}

/**
 * Returns the commands of all plans in a run with `withPlanner`, and their outcomes, in call order. Equal records are not merged.
 * Messages from before the run are ignored.
 *
 * @example console.table(planLogs(result).map(({ purpose, success }) => ({ purpose, success })));
 */
export function planLogs({ messages, streamResults }: Pick<LoopResult, "messages" | "streamResults">): readonly PlanRecord[] {
  const own = new Set(streamResults.flatMap(({ calls }) => calls.map(({ callId }) => callId)));
  return callingMessagesOf(messages).flatMap(({ plan, callIds, records }) =>
    plan === undefined ? [] : records.filter((_, index) => own.has(callIds[index] ?? "")),
  );
}

export function foldRounds({ messages, given }: RequestTranscript): PlanRounds {
  const calling = callingMessagesOf(messages.slice(given));
  const rounds = calling.filter(({ plan }) => plan !== undefined);
  return {
    donePlans: calling.flatMap(({ records }) => records),
    lastRoundRecords: rounds.at(-1)?.records ?? [],
    roundIndex: rounds.length,
  };
}

interface CallingMessage {
  readonly plan: UnknownRecord | undefined;
  readonly callIds: readonly string[];
  readonly records: readonly PlanRecord[];
}

function callingMessagesOf(messages: readonly Message[]): readonly CallingMessage[] {
  return messages.flatMap((message, at) => {
    if (message.role !== "assistant") return [];
    const records = recordsOf(message, messages[at + 1]);
    if (records.length === 0) return [];
    return [{ plan: planOf(message), callIds: readAssistantMessage(message).calls.map(({ callId }) => callId), records }];
  });
}

export function recordsOf(message: AssistantMessage, answers: Message | undefined): readonly PlanRecord[] {
  return answers?.role === "tool" ? recordsWith(message)(answers) : toRecords(message, []);
}

/**
 * Returns the records of a message with its results. Memoized because every iteration reads all messages. The key consists of both
 * messages, because an assistant message may get different results later.
 */
const recordsWith = memoize((message: AssistantMessage) => memoize(({ results }: ToolMessage) => toRecords(message, results)));

function toRecords(message: AssistantMessage, results: readonly ToolResultPart[]): readonly PlanRecord[] {
  const { calls } = readAssistantMessage(message);
  if (calls.length === 0) return [];
  const byId = new Map<string, ToolResultPart>();
  for (const result of results) if (!byId.has(result.callId)) byId.set(result.callId, result);
  const commands = planOf(message)?.["commands"];
  return calls.map((call, index) => toRecord(call, Array.isArray(commands) ? commands[index] : undefined, byId.get(call.callId)));
}

function planOf({ providerMetadata }: AssistantMessage): UnknownRecord | undefined {
  const item = providerMetadata?.map((part) => part.item).find(isPlanMetadata);
  return isRecord(item) ? item : undefined;
}

/** True for a message whose calls are the commands of a plan. */
export function hasPlan(message: Message | undefined): boolean {
  return message?.role === "assistant" && planOf(message) !== undefined;
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

function errorOf(result: Json): string {
  if (typeof result === "string") return result;
  if (!isRecord(result)) return JSON.stringify(result);
  const { status, reason, tool_name: _, ...more } = result;
  if (typeof reason === "string" && reason !== "") return reason;
  return typeof status === "string" && Object.keys(more).length === 0 ? status : JSON.stringify(result);
}
