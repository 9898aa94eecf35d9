import type { AiSdkLanguageModel } from "turnwright/ai-sdk";
import { chat } from "./chat-script.ts";
import { generate } from "./generate-script.ts";
import { messages } from "./messages-script.ts";
import { responses } from "./responses-script.ts";
import type { Ends, Misread } from "./scripted.ts";

type Version = AiSdkLanguageModel["specificationVersion"];

/**
 * Creates rows for finish reasons that OpenAI never sends. Packages of v2 report "unknown", as for a stream that was cut off. Later
 * versions also report the original finish reason.
 */
function strangers(version: Version, words: readonly string[]): readonly (string | Misread)[] {
  const because = "the package supports only the values of OpenAI";
  return version === "v2" ? words.map((word) => ({ word, reads: "lost", because })) : words;
}

function chatEnds(version: Version): Ends {
  const isOld = version === "v2";
  const refused: Misread = {
    word: "stop",
    reads: isOld ? "stop" : "content-filter",
    because: "the package does not support refusals",
  };
  return {
    ...chat.ends,
    stop: ["stop", ...strangers(version, ["eos"])],
    "context-full": strangers(version, ["model_length", "model_context_window_exceeded"]),
    "content-filter": ["content_filter", ...strangers(version, ["sensitive", "guardrail_intervened"])],
    refusal: [refused],
    error: strangers(version, ["error", "network_error", "abort", "insufficient_system_resource"]),
    unknown: isOld ? strangers(version, ["weather", "toString"]) : chat.ends.unknown,
  };
}

function responsesEnds(version: Version): Ends {
  const because = "the package reports tool-calls for a response with calls and an unknown reason";
  if (version === "v2") {
    const misread = (word: string): Misread => ({ word, reads: "lost", withCalls: "tools", because });
    return {
      ...responses.ends,
      length: ["max_output_tokens", misread("max_messages")],
      refusal: [{ word: "completed", reads: "stop", because: "the package ignores refusals" }],
      unknown: ["steered", "weather", "toString"].map(misread),
    };
  }
  return {
    ...responses.ends,
    refusal: [{ word: "completed", reads: "content-filter", withCalls: "tools", because }],
    unknown: [
      "steered",
      ...["weather", "toString"].map((word): Misread => ({ word, reads: "unknown", withCalls: "tools", because })),
    ],
  };
}

export const packageEnds = (version: Version): { readonly [Api in "chat" | "responses" | "messages" | "generate"]: Ends } => ({
  chat: chatEnds(version),
  responses: responsesEnds(version),
  messages: messages.ends,
  generate: {
    ...generate.ends,
    continue: { none: "the package continues on its own" },
    error: [
      { word: "OTHER", reads: "unknown", because: "the package reports one value for all failures" },
      ...["MALFORMED_RESPONSE", "TOO_MANY_TOOL_CALLS", "NO_IMAGE", "IMAGE_OTHER"],
    ],
  },
});
