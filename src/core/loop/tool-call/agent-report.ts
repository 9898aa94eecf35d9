import type { Json } from "../../types/common.ts";
import type { LoopResult } from "../../types/loop-result.ts";
import type { EndReason } from "../../types/termination.ts";
import type { ToolHistoryEntry } from "../../types/tool-outcome.ts";

type CutOff = "length" | "content-filter" | "refusal";

/** Reports to an outer model how a nested run ended without a whole answer in its text. */
export interface AgentReport {
  /** "incomplete" if the text was cut off or refused. */
  readonly status: "completed" | "incomplete";
  /** The kind of the run's `reason`. */
  readonly reason: "end-turn" | "stop-condition" | CutOff;
  /** The reason that a stop condition gave. */
  readonly stop_reason?: string | undefined;
  /** The calls that ended the run: with their results, or with their arguments if a stop condition kept them from running. */
  readonly calls?: readonly (
    | { readonly tool_name: string; readonly result: Json }
    | { readonly tool_name: string; readonly args: Json }
  )[];
  /** The text of the run. Absent if there is none. */
  readonly text?: string;
}

/** Returns undefined if the text or the output of the run is its answer, or if the run is not completed. */
export function reportOf(result: LoopResult): AgentReport | undefined {
  const { status, reason, output, responseText: text } = result;
  // A test may replace the nested run, and give its result only the fields that it needs.
  if (status !== "completed" || output !== undefined || (reason as unknown) === undefined) return undefined;
  const ended = readEnding(result, reason);
  return ended === undefined || text === "" ? ended : { ...ended, text };
}

const cutOff: ReadonlySet<EndReason["kind"]> = new Set<CutOff>(["length", "content-filter", "refusal"]);

function readEnding(result: LoopResult, reason: EndReason): Omit<AgentReport, "text"> | undefined {
  if (reason.kind === "end-turn")
    return { status: "completed", reason: reason.kind, calls: endingCallsOf(result).map(toEndingCall) };
  if (reason.kind === "stop-condition") return readStop(result, reason.reason);
  return cutOff.has(reason.kind) ? { status: "incomplete", reason: reason.kind as CutOff } : undefined;
}

function toEndingCall({ functionCall, functionResponse }: ToolHistoryEntry): NonNullable<AgentReport["calls"]>[number] {
  return { tool_name: functionCall.name, result: functionResponse.response.result };
}

function readStop(
  { pendingCalls, streamResults }: LoopResult,
  stop_reason: string | undefined,
): Omit<AgentReport, "text"> | undefined {
  // The condition stopped a message without calls, so nothing is left out.
  if (pendingCalls.length === 0 && streamResults.at(-1)?.finish === "stop") return undefined;
  const calls = pendingCalls.map(({ name, args }) => ({ tool_name: name, args }));
  const why = stop_reason === undefined ? {} : { stop_reason };
  return { status: "completed", reason: "stop-condition", ...why, calls };
}

export function endingCallsOf({ functionHistory }: Pick<LoopResult, "functionHistory">): readonly ToolHistoryEntry[] {
  const last = functionHistory.at(-1)?.iteration;
  return functionHistory.filter(({ iteration, endTurn }) => iteration === last && endTurn === true);
}
