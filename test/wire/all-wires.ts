// One script for all wires: what the model says in neutral words, and each wire's frames for it.

import type { Provider } from "turnwright";
import { anthropicMessages } from "turnwright/anthropic";
import { googleGenerateContent } from "turnwright/google";
import { openaiChat, openaiResponses } from "turnwright/openai";
import { connectAnthropic } from "./anthropic-client.ts";
import { call, event, start, stop, text } from "./anthropic-frames.ts";
import { checkGenerateContract } from "./generate-contract.ts";
import { connectGoogle } from "./google-client.ts";
import { callPart, chunk, piece, says, stop as finish, text as textOf } from "./google-frames.ts";
import { checkMessagesContract } from "./messages-contract.ts";
import { connectOpenAI } from "./openai-client.ts";
import { done, json, sse, type RawReply } from "./raw-sse-server.ts";
import { checkResponsesContract } from "./responses-contract.ts";
import { created, cutOff, ended, message, wholeItem, call as functionCall } from "./responses-frames.ts";
import { checkWireContract } from "./wire-contract.ts";

/** A call: its id, its tool, and its arguments as text. */
export type ScriptedCall = readonly [id: string, name: string, args: string];

/** What the service answers to one request. */
export type Scripted =
  | {
      readonly text?: string;
      readonly calls?: readonly ScriptedCall[];
      /** `lost` closes the stream without a word, `dropped` the connection, `broken` puts an error into the stream. */
      readonly end: "stop" | "tools" | "length" | "refusal" | "unknown" | "lost" | "dropped" | "broken";
    }
  | { readonly status: number; readonly message: string; readonly retryAfter?: string };

/** One wire: how it says a script, and who reads it. Every answer takes 3 tokens in and 2 out. */
export interface Wire {
  readonly name: "openai" | "openai-responses" | "anthropic" | "google";
  toReply(scripted: Scripted): RawReply;
  connect(baseURL: string): { readonly provider: Provider; readonly bodies: readonly unknown[] };
  /** What is wrong with a request that left. */
  check(body: unknown): readonly string[];
}

const finishReasons = {
  stop: ["stop", "end_turn", "STOP"],
  tools: ["tool_calls", "tool_use", "STOP"],
  length: ["length", "max_tokens", "MAX_TOKENS"],
  refusal: ["content_filter", "refusal", "SAFETY"],
  unknown: ["weather", "weather", "WEATHER"],
} as const;

type Turn = Extract<Scripted, { readonly end: string }>;

/** The frames of a stream, then its ending. */
function toStream(
  turn: Turn,
  said: readonly string[],
  frames: { readonly finish: (reasons: readonly [string, string, string]) => string; readonly broken: string },
): RawReply {
  const { end } = turn;
  if (end === "lost") return { frames: said };
  if (end === "dropped") return { frames: said, ending: "drop" };
  return { frames: [...said, end === "broken" ? frames.broken : frames.finish(finishReasons[end])] };
}

const openai: Wire = {
  name: "openai",
  toReply(scripted) {
    if ("status" in scripted) {
      const { status, message, retryAfter } = scripted;
      return json(status, { error: { message } }, retryAfter === undefined ? {} : { "retry-after": retryAfter });
    }
    const { text: content, calls = [] } = scripted;
    const delta = (fields: object, rest: object = {}): string => sse({ choices: [{ index: 0, delta: fields, ...rest }] });
    const toCall = ([id, name, args]: ScriptedCall, index: number): string =>
      delta({ tool_calls: [{ index, id, type: "function", function: { name, arguments: args } }] });
    const usage = sse({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 } });
    return toStream(scripted, [...(content === undefined ? [] : [delta({ content })]), ...calls.map(toCall)], {
      finish: ([reason]) => delta({}, { finish_reason: reason }) + usage + done,
      broken: sse({ error: { message: "Busy.", type: "server_error", code: 529 } }),
    });
  },
  connect(baseURL) {
    const { client, bodies } = connectOpenAI(baseURL);
    return { provider: openaiChat({ client, model: "m" }), bodies };
  },
  check: checkWireContract,
};

const anthropic: Wire = {
  name: "anthropic",
  toReply(scripted) {
    if ("status" in scripted) {
      const { status, message, retryAfter } = scripted;
      return json(status, { type: "error", error: { message } }, retryAfter === undefined ? {} : { "retry-after": retryAfter });
    }
    const { text: content, calls = [] } = scripted;
    const offset = content === undefined ? 0 : 1;
    const blocks = [
      ...(content === undefined ? [] : [text(0, content)]),
      ...calls.map((scriptedCall, index) => call(offset + index, scriptedCall)),
    ];
    return toStream(scripted, [start(), ...blocks], {
      finish: ([, reason]) => stop(reason),
      broken: event({ type: "error", error: { type: "overloaded_error", message: "Busy." } }),
    });
  },
  connect(baseURL) {
    const { client, bodies } = connectAnthropic(baseURL);
    return { provider: anthropicMessages({ client, model: "m" }), bodies };
  },
  check: checkMessagesContract,
};

/** Arguments come as an object on this wire; what is no JSON comes as a call in pieces that do not fit, or that ends too early. */
function toGoogleCall([id, name, args]: ScriptedCall): string {
  try {
    return says(callPart(id, name, args === "" ? undefined : JSON.parse(args)));
  } catch {
    const begun = piece({ id, name, willContinue: true });
    return args.endsWith(":") ? begun + piece({ partialArgs: [{ jsonPath: "$.city[1]", stringValue: "" }] }) : begun;
  }
}

const google: Wire = {
  name: "google",
  toReply(scripted) {
    if ("status" in scripted) {
      const { status, message, retryAfter } = scripted;
      const details = retryAfter === undefined ? [] : [{ retryDelay: `${retryAfter}s` }];
      return json(status, { error: { code: status, message, details } });
    }
    const { text: content, calls = [] } = scripted;
    return toStream(scripted, [...(content === undefined ? [] : [textOf(content)]), ...calls.map(toGoogleCall)], {
      finish: ([, , reason]) => finish(reason),
      broken: chunk({ error: { code: 503, message: "Busy.", status: "UNAVAILABLE" } }),
    });
  },
  connect(baseURL) {
    const { client, bodies } = connectGoogle(baseURL);
    return { provider: googleGenerateContent({ client, model: "m" }), bodies };
  },
  check: (body) => checkGenerateContract(body),
};

/** The last event of a response; this wire has an event for each way to end. */
function endResponse(reason: string): string {
  if (reason === "stop" || reason === "tool_calls") return ended("completed");
  return cutOff(reason === "length" ? "max_output_tokens" : reason);
}

const responses: Wire = {
  name: "openai-responses",
  toReply(scripted) {
    if ("status" in scripted) return openai.toReply(scripted);
    const { text: content, calls = [] } = scripted;
    const items = [
      ...(content === undefined ? [] : [message(content)]),
      ...calls.map((scriptedCall) => functionCall(scriptedCall)),
    ];
    return toStream(scripted, [created, ...items.map((item, index) => wholeItem(item, index))], {
      finish: ([reason]) => endResponse(reason),
      broken: event({ type: "error", code: "server_is_overloaded", message: "Busy.", param: null }),
    });
  },
  connect(baseURL) {
    const { client, bodies } = connectOpenAI(baseURL);
    return { provider: openaiResponses({ client, model: "m" }), bodies };
  },
  check: checkResponsesContract,
};

/** All of them. */
export const wires: readonly Wire[] = [openai, responses, anthropic, google];
