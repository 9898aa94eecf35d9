import Anthropic, { type ClientOptions } from "@anthropic-ai/sdk";
import { block, call, event, stop, text } from "./anthropic-frames.ts";

export interface WireBody {
  readonly model: string;
  readonly max_tokens: number;
  readonly system?: unknown;
  readonly tools?: readonly { readonly name?: string; readonly type?: string }[];
  readonly tool_choice?: { readonly type: string; readonly name?: string };
  readonly thinking?: { readonly type: string; readonly budget_tokens?: number; readonly [field: string]: unknown };
  readonly messages: readonly WireTurn[];
  readonly [field: string]: unknown;
}

export interface WireTurn {
  readonly role: string;
  readonly content: readonly WirePart[];
}

export interface WirePart {
  readonly type: string;
  readonly [field: string]: unknown;
}

export interface SentRequest {
  readonly body: WireBody;
  readonly headers: Headers;
}

/** The blocks of one answer. The stop reason is "tool_use" if the last block is a call, otherwise "end_turn". */
export interface ServiceAnswer {
  readonly blocks: readonly WirePart[];
  /** Fields of the message in `message_start`. */
  readonly message?: object;
}

export interface AnthropicService {
  readonly client: Anthropic;
  readonly requests: readonly SentRequest[];
  /** The error texts that the service has answered, in order. */
  readonly refusals: readonly string[];
}

export interface ServiceRules {
  /** Returns the text of a 400 error, or undefined if the request is accepted. */
  refuse(request: SentRequest): string | undefined;
  answer(request: SentRequest): ServiceAnswer;
}

/** Makes a client of the real SDK whose requests are answered in this process. */
export function createAnthropicService(rules: ServiceRules, options: ClientOptions = {}): AnthropicService {
  const requests: SentRequest[] = [];
  const refusals: string[] = [];
  const respond = (_url: unknown, init?: { body?: unknown; headers?: unknown }): Promise<Response> => {
    const request = {
      body: JSON.parse(String(init?.body)) as WireBody,
      headers: new Headers(init?.headers as ConstructorParameters<typeof Headers>[0]),
    };
    requests.push(request);
    const refusal = rules.refuse(request);
    if (refusal === undefined) return Promise.resolve(toStream(rules.answer(request), requests));
    refusals.push(refusal);
    const error = { type: "error", error: { type: "invalid_request_error", message: refusal } };
    return Promise.resolve(Response.json(error, { status: 400 }));
  };
  const client = new Anthropic({ apiKey: "test", maxRetries: 0, logLevel: "off", ...options, fetch: respond });
  return { client, requests, refusals };
}

function toStream({ blocks, message = {} }: ServiceAnswer, requests: readonly SentRequest[]): Response {
  const count = requests.length;
  const usage = { input_tokens: JSON.stringify(requests.at(-1)?.body).length >> 2, output_tokens: 1 };
  const start = {
    id: `msg_${count}`,
    type: "message",
    role: "assistant",
    model: "m",
    content: [],
    stop_reason: null,
    usage,
    ...message,
  };
  const reason = blocks.at(-1)?.type === "tool_use" ? "tool_use" : "end_turn";
  const frames = [event({ type: "message_start", message: start }), ...blocks.map(toFrame), stop(reason)];
  return new Response(frames.join(""), { headers: { "content-type": "text/event-stream" } });
}

function toFrame(part: WirePart, index: number): string {
  if (part.type === "text") return text(index, String(part["text"]));
  if (part.type === "tool_use") return call(index, [String(part["id"]), String(part["name"]), JSON.stringify(part["input"])]);
  if (part.type !== "thinking") return block(index, part);
  const deltas = [{ type: "signature_delta", signature: part["signature"] }];
  return block(
    index,
    { type: "thinking", thinking: "", signature: "" },
    { type: "thinking_delta", thinking: part["thinking"] },
    ...deltas,
  );
}
