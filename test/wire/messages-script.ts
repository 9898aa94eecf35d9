import { anthropicMessages } from "turnwright/anthropic";
import { connectAnthropic } from "./anthropic-client.ts";
import { block, call, event, marker, start, thinking } from "./anthropic-frames.ts";
import { checkMessagesContract } from "./messages-contract.ts";
import { json } from "./raw-sse-server.ts";
import { type Ends, type ScriptedTurn, type ScriptedUsage, toStream, usual } from "./scripted.ts";
import type { Wire } from "./wire.ts";

const ends: Ends = {
  stop: ["end_turn"],
  tools: ["tool_use"],
  length: ["max_tokens"],
  "context-full": ["model_context_window_exceeded"],
  "content-filter": { none: "the API reports filtered answers as refusals" },
  refusal: ["refusal"],
  paused: ["pause_turn", "compaction"],
  continue: { none: "the API cuts off an answer that reaches its limit" },
  "malformed-call": { none: "arguments are text that the loop parses" },
  error: { none: "a failure is an error event" },
  unknown: ["weather", "toString"],
  lost: ["silence"],
  dropped: ["a reset"],
  broken: ["an error"],
};

/** The token counts at the end of a stream replace the counts at the start, unless they are null. */
function toCounts({
  input,
  output,
  cached = 0,
  cacheWrite = 0,
  reasoning,
}: ScriptedUsage): readonly [first: object, last: object] {
  const counts = { cache_read_input_tokens: cached, cache_creation_input_tokens: cacheWrite };
  const details = reasoning === undefined ? {} : { output_tokens_details: { thinking_tokens: reasoning } };
  return [
    { input_tokens: input - cached - cacheWrite, output_tokens: 1, ...counts },
    { input_tokens: null, output_tokens: output, ...details },
  ];
}

function toBlocks({ reasoning, text = "", calls = [] }: ScriptedTurn): readonly string[] {
  const deltas = Array.from(text, (character) => ({ type: "text_delta", text: character }));
  const blocks: ((index: number) => string)[] = [
    ...(reasoning === undefined ? [] : [(index: number) => thinking(index, ...reasoning)]),
    ...(text === "" ? [] : [(index: number) => block(index, { type: "text", text: "" }, ...deltas)]),
    ...calls.map((scriptedCall) => (index: number) => call(index, scriptedCall)),
  ];
  return blocks.map((write, index) => write(index));
}

export const messages: Wire = {
  name: "anthropic",
  ends,
  toReply(scripted) {
    if ("status" in scripted) {
      const { status, message, retryAfter } = scripted;
      return json(status, { type: "error", error: { message } }, retryAfter === undefined ? {} : { "retry-after": retryAfter });
    }
    const [first, last] = toCounts(scripted.usage ?? usual);
    return toStream(scripted, [start(first), ...toBlocks(scripted)], {
      ends,
      finish: (word) => {
        const delta = { stop_reason: word, stop_sequence: null };
        return event({ type: "message_delta", delta, usage: last }) + marker;
      },
      broken: () => event({ type: "error", error: { type: "overloaded_error", message: "Busy." } }),
    });
  },
  connect(baseURL, { options } = {}) {
    const { client, bodies } = connectAnthropic(baseURL);
    return { provider: anthropicMessages({ client, model: "m", ...options }), bodies };
  },
  check: checkMessagesContract,
};
