// A turn that comes in several streams is one turn: their texts and their calls follow each other.

import type { StreamResult } from "../../types/stream-result.ts";
import type { ToolCall } from "../../types/tool-outcome.ts";
import { problemOf } from "../../providers/judge-finish.ts";
import type { Turn } from "./loop-state.ts";

/** The text, the reasoning and the calls of a turn, with those of its next stream. */
export function joinTurn(turn: Turn, { text, reasoning, calls, finish }: StreamResult): Omit<Turn, "providerMetadata"> {
  return {
    text: turn.text + text,
    reasoning: turn.reasoning + reasoning,
    calls: [...withProblem(turn.calls, problemOf(finish)), ...calls],
  };
}

/** What cuts a continuation off cuts the whole turn: the calls of its earlier continuations run no more than its own. */
function withProblem(calls: readonly ToolCall[], problem: ToolCall["problem"]): readonly ToolCall[] {
  return problem === undefined ? calls : calls.map((call) => ({ ...call, problem }));
}
