// The adapters with real SDKs over a given `fetch`.

import Anthropic from "@anthropic-ai/sdk";
import { createOpenAI } from "@ai-sdk/openai";
import { GoogleGenAI } from "@google/genai";
import OpenAI, { AzureOpenAI } from "openai";
import OpenAI6 from "openai-6";
import type { Provider } from "turnwright";
import { aiSdkModel } from "turnwright/ai-sdk";
import { anthropicMessages } from "turnwright/anthropic";
import { googleGenerateContent } from "turnwright/google";
import { openaiChat, openaiResponses } from "turnwright/openai";
import type { ErrorWord } from "../../src/shared/errors/error-words.ts";

export type Fetch = typeof globalThis.fetch;

interface Shared {
  readonly errorWords?: readonly ErrorWord[];
}

export type Connect = (fetch: Fetch, options?: Shared) => Provider;

const baseURL = "https://service.test/v1";
const own = { apiKey: "test", baseURL, maxRetries: 0 };
const azure = { apiKey: "test", endpoint: "https://service.test", apiVersion: "2025-04-01-preview", maxRetries: 0 };

type Wire =
  | "openaiChat"
  | "openaiChat with openai 6"
  | "openaiChat with AzureOpenAI"
  | "openaiResponses"
  | "anthropicMessages"
  | "googleGenerateContent"
  | "aiSdkModel";

export const clients: { readonly [Name in Wire]: Connect } = {
  openaiChat: (fetch, options) => openaiChat({ client: new OpenAI({ ...own, fetch }), model: "m", ...options }),
  "openaiChat with openai 6": (fetch, options) => openaiChat({ client: new OpenAI6({ ...own, fetch }), model: "m", ...options }),
  "openaiChat with AzureOpenAI": (fetch, options) =>
    openaiChat({ client: new AzureOpenAI({ ...azure, fetch }), model: "m", ...options }),
  openaiResponses: (fetch, options) => openaiResponses({ client: new OpenAI({ ...own, fetch }), model: "m", ...options }),
  anthropicMessages: (fetch, options) => anthropicMessages({ client: new Anthropic({ ...own, fetch }), model: "m", ...options }),
  googleGenerateContent: (fetch, options) =>
    googleGenerateContent({
      client: new GoogleGenAI({ apiKey: "test", httpOptions: { baseUrl: "https://service.test", fetch } }),
      model: "m",
      ...options,
    }),
  aiSdkModel: (fetch, options) => aiSdkModel({ model: createOpenAI({ apiKey: "test", baseURL, fetch }).chat("m"), ...options }),
};

export const wires: readonly (readonly [name: string, connect: Connect])[] = Object.entries(clients);

/** A `fetch` that answers each request with the next of these responses. */
export function answerWith(...replies: readonly (() => Response)[]): Fetch {
  let count = 0;
  return async () => {
    const reply = replies[Math.min(count, replies.length - 1)];
    count += 1;
    if (reply === undefined) throw new Error("There is no reply.");
    return reply();
  };
}

export const refusal =
  (status: number, body: unknown, headers: Readonly<Record<string, string>> = {}) =>
  (): Response =>
    new Response(typeof body === "string" ? body : JSON.stringify(body), {
      status,
      headers: { "content-type": "application/json", ...headers },
    });

export const events =
  (...frames: readonly (object | string)[]) =>
  (): Response =>
    new Response(frames.map((frame) => (typeof frame === "string" ? frame : `data: ${JSON.stringify(frame)}\n\n`)).join(""), {
      headers: { "content-type": "text/event-stream" },
    });
