import { openaiChat } from "turnwright/openai";
import { connectOpenAI } from "./openai-client.ts";
import { done, json, sse } from "./raw-sse-server.ts";
import { type Ends, halvesOf, type ScriptedCall, type ScriptedTurn, type ScriptedUsage, toStream, usual } from "./scripted.ts";
import { checkWireContract } from "./wire-contract.ts";
import type { Wire } from "./wire.ts";

const ends: Ends = {
  stop: ["stop", "eos"],
  tools: ["tool_calls", "function_call"],
  length: ["length"],
  "context-full": ["model_length", "model_context_window_exceeded"],
  "content-filter": ["content_filter", "sensitive", "guardrail_intervened"],
  refusal: ["stop"],
  paused: { none: "the API has no paused messages" },
  continue: { none: "the API cannot continue an answer" },
  "malformed-call": { none: "arguments are text that the loop parses" },
  error: ["error", "network_error", "abort", "insufficient_system_resource"],
  unknown: ["weather", "toString"],
  lost: ["silence"],
  dropped: ["a reset"],
  broken: ["an error"],
};

const delta = (fields: object, rest: object = {}): string => sse({ choices: [{ index: 0, delta: fields, ...rest }] });

/** Writes the names of all calls, then the first half of the arguments of each call, and then the second halves. */
function toCalls(calls: readonly ScriptedCall[]): readonly string[] {
  const frame = (index: number, rest: object): string => delta({ tool_calls: [{ index, ...rest }] });
  const half = (which: 0 | 1): readonly string[] =>
    calls.map(([, , args], index) => frame(index, { function: { arguments: halvesOf(args)[which] } }));
  const begins = calls.map(([id, name], index) => frame(index, { id, type: "function", function: { name, arguments: "" } }));
  return [...begins, ...half(0), ...half(1)];
}

/** Writes reasoning as OpenRouter does, with separate fields for text and encrypted data. */
function toThought([text, data]: readonly [string, string]): string {
  return delta({ reasoning_content: text, reasoning_details: [{ type: "reasoning.encrypted", data }] });
}

function toUsage({ input, output, cached, cacheWrite, reasoning }: ScriptedUsage): string {
  const usage = {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: cacheWrite },
    completion_tokens_details: { reasoning_tokens: reasoning },
  };
  return sse({ choices: [], usage });
}

function toFrames({ reasoning, text = "", calls = [] }: ScriptedTurn): readonly string[] {
  const thoughts = reasoning === undefined ? [] : [toThought(reasoning)];
  return [...thoughts, ...Array.from(text, (content) => delta({ content })), ...toCalls(calls)];
}

export const chat: Wire = {
  name: "openai",
  ends,
  toReply(scripted) {
    if ("status" in scripted) {
      const { status, message, retryAfter } = scripted;
      return json(status, { error: { message } }, retryAfter === undefined ? {} : { "retry-after": retryAfter });
    }
    return toStream(scripted, toFrames(scripted), {
      ends,
      finish: (word, end) =>
        (end === "refusal" ? delta({ refusal: "I would rather not." }) : "") +
        delta({}, { finish_reason: word }) +
        toUsage(scripted.usage ?? usual) +
        done,
      broken: () => sse({ error: { message: "Busy.", type: "server_error", code: 529 } }),
    });
  },
  connect(baseURL, { options } = {}) {
    const { client, bodies } = connectOpenAI(baseURL);
    return { provider: openaiChat({ client, model: "m", ...options }), bodies };
  },
  check: checkWireContract,
};
