import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { defineTool, type LoopResult, type Message, runToolLoop, type Tool } from "turnwright";
import { openaiChat, type OpenAIChatOptions, openaiResponses, type OpenAIResponsesOptions } from "turnwright/openai";
import { z } from "zod";

/** The fields of a request that these tests read. */
export interface SentBody {
  readonly messages: readonly SentMessage[];
  readonly input: readonly SentMessage[];
  readonly tools?: readonly object[];
  readonly [field: string]: unknown;
}

interface SentMessage {
  readonly role: string;
  readonly content: unknown;
  readonly tool_call_id?: string;
  readonly tool_calls?: readonly { readonly id: string }[];
  readonly [field: string]: unknown;
}

export interface Recorder {
  readonly fetch: typeof fetch;
  readonly bodies: readonly SentBody[];
}

/** Answers every request with `answer`, and records the bodies. */
export function createRecorder(answer: (body: SentBody) => Response): Recorder {
  const bodies: SentBody[] = [];
  return {
    bodies,
    fetch: async (_input, init) => {
      const body: SentBody = JSON.parse(z.string().parse(init?.body));
      bodies.push(body);
      return answer(body);
    },
  };
}

/** Returns a function whose promise resolves after `count` calls. Later calls do not wait. */
export function createMeeting(count: number): () => Promise<void> {
  let calls = 0;
  let open: () => void = () => {};
  const met = new Promise<void>((resolve) => (open = resolve));
  return () => {
    calls += 1;
    if (calls === count) open();
    return met;
  };
}

export const connect = (fetch: Recorder["fetch"], baseURL?: string): OpenAI =>
  new OpenAI({ apiKey: "test", maxRetries: 0, logLevel: "off", fetch, ...(baseURL === undefined ? {} : { baseURL }) });

export const connectAnthropic = (fetch: Recorder["fetch"], baseURL?: string): Anthropic =>
  new Anthropic({ apiKey: "test", maxRetries: 0, logLevel: "off", fetch, ...(baseURL === undefined ? {} : { baseURL }) });

export function sse(...events: readonly object[]): Response {
  const text = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
  return new Response(text, { headers: { "content-type": "text/event-stream" } });
}

export const refuse = (status: number, body: object): Response => Response.json(body, { status });

/** A Chat Completions answer with the text "Done.". */
export const chatText = (): Response =>
  sse({
    id: "chatcmpl-1",
    choices: [{ index: 0, delta: { role: "assistant", content: "Done." }, finish_reason: "stop" }],
    usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
  });

/** A Chat Completions answer with one call. `more` are further fields of its delta. */
export const chatCall = (id: string, name: string, more: object = {}): Response =>
  sse({
    id: "chatcmpl-1",
    choices: [
      {
        index: 0,
        delta: {
          role: "assistant",
          content: null,
          ...more,
          tool_calls: [{ index: 0, id, type: "function", function: { name, arguments: "{}" } }],
        },
        finish_reason: "tool_calls",
      },
    ],
  });

/** A whole response of the Responses API with these output items. */
export const wholeResponse = (...output: readonly object[]): object => ({
  id: "resp_1",
  object: "response",
  status: "completed",
  output,
  usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 },
});

export const outputText = (text: string): object => ({
  id: "msg_1",
  type: "message",
  status: "completed",
  role: "assistant",
  content: [{ type: "output_text", text, annotations: [] }],
});

export const responsesText = (): Response => sse({ type: "response.completed", response: wholeResponse(outputText("Done.")) });

export type ChatOptions = Partial<OpenAIChatOptions> & { readonly at?: string };
export type RunOptions = Partial<Parameters<typeof runToolLoop>[0]>;

export interface Sent {
  readonly result: LoopResult;
  readonly bodies: readonly SentBody[];
  readonly body: SentBody;
}

export const user = (content: string): Message => ({ role: "user", content });
export const said = (text: string): Message => ({ role: "assistant", content: [{ type: "text", text }] });
export const asked = (callId: string, name = "look"): Message => ({
  role: "assistant",
  content: [{ type: "tool-call", callId, name, args: {} }],
});
export const answered = (callId: string, name = "look"): Message => ({
  role: "tool",
  results: [{ callId, name, outcome: "completed", result: "seen" }],
});

export const tool = (name: string): Tool =>
  defineTool({ name, description: name, inputSchema: { type: "object", properties: {} }, execute: () => "seen" });

export async function sendChat({ at, ...options }: ChatOptions, run: RunOptions): Promise<Sent> {
  const { fetch, bodies } = createRecorder(chatText);
  const provider = openaiChat({ client: connect(fetch, at), model: "some-model", ...options });
  const result = await runToolLoop({ provider, messages: [user("Hello")], ...run });
  return { result, bodies, body: bodies.at(-1) ?? { messages: [], input: [] } };
}

export async function sendResponses(
  { at, ...options }: Partial<OpenAIResponsesOptions> & { readonly at?: string },
  run: RunOptions,
): Promise<Sent> {
  const { fetch, bodies } = createRecorder(responsesText);
  const provider = openaiResponses({ client: connect(fetch, at), model: "some-model", ...options });
  const result = await runToolLoop({ provider, messages: [user("Hello")], ...run });
  return { result, bodies, body: bodies.at(-1) ?? { messages: [], input: [] } };
}

export const rolesOf = ({ body }: Sent): readonly string[] => body.messages.map(({ role }) => role);
export const textsOf = ({ body }: Sent): readonly unknown[] => body.messages.map(({ content }) => content);
