import type { Json, LoopResult, UserMessage } from "../core/index.ts";
import { isRecord } from "../core/kit.ts";
import { toJson } from "../shared/json.ts";

type Fields = { [name: string]: Json };

type HarnessEvent =
  | { type: "message"; role: "user" | "assistant"; content: string }
  | { type: "tool_call"; id: string; name: string; arguments: Fields }
  | { type: "tool_result"; toolCallId: string; name: string; content: Json };

/** A run in the form that `createHarness` from vitest-evals 0.16 accepts. */
export interface HarnessResult {
  /** The validated output of `structuredOutput`, or else the text. */
  output: Json;
  events: HarnessEvent[];
  usage: {
    provider: string;
    model: string;
    inputTokens: number;
    outputTokens: number;
    reasoningTokens: number;
    totalTokens: number;
    toolCalls: number;
    /** The tokens that services read from a cache, and the cost, or null if it is unknown. */
    metadata: { cachedInputTokens: number; costUSD: number | null };
  };
  timings: { totalMs: number };
  errors: { message: string }[];
}

/**
 * Converts a run's result for a vitest-evals harness. Its judges, assertions and reports then see the run's transcript, calls and
 * usage.
 *
 * @example
 * const harness = createHarness({
 *   name: "support",
 *   run: async ({ input, signal }) => toHarnessResult(await runToolLoop({ provider, tools, messages: ask(input), signal })),
 * });
 */
export function toHarnessResult(result: LoopResult): HarnessResult {
  const { messages, output, text, usage, costUSD = null, durationMs, error, streamResults, toolCallsExecuted } = result;
  const { inputTokens, outputTokens, totalTokens, reasoningTokens = 0, cachedInputTokens = 0 } = usage;
  const { provider = "", model = "" } = streamResults.at(-1) ?? {};
  return {
    output: output === undefined ? text : toJson(output),
    events: messages.flatMap(toEvents),
    usage: {
      provider,
      model,
      inputTokens,
      outputTokens,
      reasoningTokens,
      totalTokens,
      toolCalls: toolCallsExecuted,
      metadata: { cachedInputTokens, costUSD },
    },
    timings: { totalMs: durationMs },
    errors: error === undefined ? [] : [{ message: error.message }],
  };
}

function toEvents(message: LoopResult["messages"][number]): readonly HarnessEvent[] {
  if (message.role === "user") return [{ type: "message", role: "user", content: contentOf(message.content) }];
  if (message.role === "tool")
    return message.results.map(({ callId, name, result }) => ({
      type: "tool_result",
      toolCallId: callId,
      name,
      content: toJson(result),
    }));
  return message.content.map((part) =>
    part.type === "tool-call"
      ? { type: "tool_call", id: part.callId, name: part.name, arguments: toFields(part.args) }
      : { type: "message", role: "assistant", content: part.text },
  );
}

function contentOf(content: UserMessage["content"]): string {
  if (typeof content === "string") return content;
  return content.map((part) => (part.type === "text" ? part.text : `[${part.type}]`)).join("");
}

/** Returns a call's arguments as an object. Wraps any other value, because the model may not have written JSON. */
function toFields(args: Json): Fields {
  return isRecord(args) ? { ...(args as Fields) } : { value: args };
}
