import { openaiResponses } from "turnwright/openai";
import { event } from "./anthropic-frames.ts";
import { chat } from "./chat-script.ts";
import { connectOpenAI } from "./openai-client.ts";
import { checkResponsesContract } from "./responses-contract.ts";
import {
  call,
  created,
  cutOff,
  ended,
  message,
  openItems,
  reasoning,
  refusal,
  type ResponseItem,
  wholeItems,
} from "./responses-frames.ts";
import { type Ends, type ScriptedTurn, type ScriptedUsage, toStream, usual } from "./scripted.ts";
import type { Wire } from "./wire.ts";

const ends: Ends = {
  stop: ["completed"],
  tools: [{ word: "completed", reads: "stop", because: "the API reports completed for responses with calls as well" }],
  length: ["max_output_tokens", "max_messages"],
  "context-full": { none: "a full context is an error of the request" },
  "content-filter": ["content_filter"],
  refusal: ["completed"],
  paused: { none: "no turn is paused on this wire" },
  continue: { none: "no answer is gone on with" },
  "malformed-call": { none: "arguments are texts, which the loop itself reads" },
  error: { none: "a response that failed is an error of the stream" },
  unknown: ["steered", "weather", "toString"],
  lost: ["silence"],
  dropped: ["a reset"],
  broken: ["error", "response.failed"],
};

function toItems({ reasoning: thought, text = "", calls = [] }: ScriptedTurn): readonly ResponseItem[] {
  return [
    ...(thought === undefined ? [] : [reasoning(...thought)]),
    ...(text === "" ? [] : [message(text)]),
    ...calls.map((scriptedCall) => call(scriptedCall)),
  ];
}

function toUsage({ input, output, cached, cacheWrite, reasoning: thoughts }: ScriptedUsage): object {
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached ?? 0, cache_write_tokens: cacheWrite },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: thoughts ?? 0 },
    total_tokens: input + output,
  };
}

const busy = { code: "server_is_overloaded", message: "Busy." };
const broken: { readonly [word: string]: string } = {
  error: event({ type: "error", ...busy, param: null, sequence_number: 9 }),
  "response.failed": event({
    type: "response.failed",
    response: { id: "resp_1", status: "failed", output: [], usage: null, error: busy },
    sequence_number: 9,
  }),
};

export const responses: Wire = {
  name: "openai-responses",
  ends,
  toReply(scripted) {
    if ("status" in scripted) return chat.toReply(scripted);
    const items = toItems(scripted);
    const usage = toUsage(scripted.usage ?? usual);
    const said = scripted.end === "silent" ? openItems(items) : wholeItems(items);
    return toStream(scripted, [created, ...said], {
      ends,
      finish: (word, end) => {
        if (word !== "completed") return cutOff(word, [], { usage });
        const refused = end === "refusal" ? [refusal("I would rather not.")] : [];
        return wholeItems(refused, items.length).join("") + ended("completed", { output: [...items, ...refused], usage });
      },
      broken: (word) => broken[word] ?? "",
    });
  },
  connect(baseURL, { options } = {}) {
    const { client, bodies } = connectOpenAI(baseURL);
    return { provider: openaiResponses({ client, model: "m", ...options }), bodies };
  },
  check: checkResponsesContract,
};
