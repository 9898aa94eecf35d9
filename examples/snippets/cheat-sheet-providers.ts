// A summary for llms.txt: the adapters for providers. If a type here differs from the real type, the compiler reports an error.

import type { FinishReason, Json, Message, Provider } from "turnwright";
import * as aiSdk from "turnwright/ai-sdk";
import * as anthropic from "turnwright/anthropic";
import * as google from "turnwright/google";
import * as openai from "turnwright/openai";
import type { ErrorWord } from "turnwright/kit";
import { type Differing, expectNone } from "./same-names.ts";

// #region openai
interface OpenAIEntry {
  openaiChat(options: {
    client: openai.OpenAIChatClient; // new OpenAI(), or any other client of Chat Completions
    model: string;
    id?: string; // "openai"
    service?: openai.ServiceName; // the service whose rules the requests follow, such as "mistral"; recognized by address, id or model
    family?: string;
    includeUsage?: boolean; // true
    maxTokensField?: "max_completion_tokens" | "max_tokens"; // by service
    echoReasoning?: "reasoning_content" | "reasoning"; // by model
    toolResultMedia?: "user-message" | "tool-message";
    toWireCallId?: (callId: string) => string; // by service
    promptCacheKey?: string; // sent as prompt_cache_key: requests with equal keys and beginnings share a cache
    structuredOutput?: boolean; // sends the schema of structuredOutput; true for OpenAI's own address, false for other servers
    finishReasons?: { readonly [word: string]: FinishReason }; // { "FUNCTION_CALL": "tool-calls" }: words that the adapter does not know
    thinkTags?: boolean | "opened"; // reads <think> at the beginning of an answer as reasoning; false for OpenAI's models
    errorWords?: readonly ErrorWord[]; // [{ pattern: /input too big/i, code: "context-too-long" }]: texts that the adapter does not know
  }): Provider;
  openaiResponses(options: {
    client: openai.OpenAIResponsesClient; // new OpenAI(), or any other client of Responses
    model: string;
    id?: string; // "openai"
    service?: openai.ServiceName; // as above
    family?: string;
    store?: boolean; // false: the service stores nothing; with true and false, each request has the whole conversation
    include?: readonly string[]; // ["reasoning.encrypted_content"] if nothing is stored
    compaction?: boolean; // false: the service makes the summaries of compactMessages
    reasoning?: openai.OpenAIReasoning; // { effort: "low", summary: "auto" }
    customTools?: { readonly [toolName: string]: openai.OpenAICustomToolFormat }; // called with text instead of JSON: args are { input }
    serverTools?: readonly openai.OpenAIServerTool[]; // [{ type: "web_search" }]
    toolSearch?: boolean; // the service finds tools with `deferred`; gpt-5.4 and later
    toolResultMedia?: "tool-message" | "user-message";
    promptCacheKey?: string;
    structuredOutput?: boolean; // as above
    finishReasons?: { readonly [word: string]: FinishReason };
    errorWords?: readonly ErrorWord[];
  }): Provider;
  fromOpenAIMessages(
    messages: readonly object[], // Chat messages, or Responses items
    options?: { api?: "chat" | "responses"; provider?: openai.HistoryProvider; store?: boolean }, // api: recognized
  ): openai.ReadHistory; // { messages, system?, lost }: messages and system for a run
  toOpenAIMessages<Item extends object = openai.OpenAIMessage>(
    // for Responses: toOpenAIMessages<ResponseInputItem>
    messages: readonly Message[],
    options?: { api?: "chat" | "responses"; system?: string; provider?: openai.HistoryProvider; store?: boolean }, // api: "chat"
  ): { readonly messages: Item[]; readonly lost: readonly openai.LostContent[] }; // lost: { index, field, reason }
}
// #endregion openai

// #region anthropic
interface AnthropicEntry {
  anthropicMessages(options: {
    client: anthropic.AnthropicMessagesClient; // new Anthropic(), or any other client of Messages
    model: string;
    id?: string; // "anthropic"
    service?: anthropic.ServiceName; // the service whose rules the requests follow, such as "bedrock"; recognized by address or id
    family?: string;
    maxTokens?: number; // 16,384, plus the thinking budget
    thinking?: anthropic.AnthropicThinking; // { type: "adaptive" }, { type: "enabled", budget_tokens }
    cache?: boolean | { readonly ttl?: "5m" | "1h" }; // false
    compaction?: boolean | { readonly instructions?: string }; // false: the service makes the summaries of compactMessages
    betas?: readonly string[];
    apiVersion?: string; // the client's; from "2026-10-21" on, temperature and topP are not sent
    dropsUnfitThinking?: boolean; // true for models that check their thinking
    serverTools?: readonly anthropic.AnthropicServerTool[]; // run by the service, never calls of the run
    toolSearch?: "bm25" | "regex"; // the service finds tools with `deferred`
    structuredOutput?: boolean; // sends the schema of structuredOutput; true for Anthropic's own address
    finishReasons?: { readonly [word: string]: FinishReason };
    errorWords?: readonly ErrorWord[];
  }): Provider;
  fromAnthropicMessages(
    messages: readonly object[],
    options?: { system?: string | readonly object[]; provider?: anthropic.HistoryProvider }, // provider: keeps signatures
  ): anthropic.ReadHistory; // { messages, system?, lost }
  toAnthropicMessages<Item extends object = anthropic.AnthropicMessage>(
    messages: readonly Message[],
    options?: { system?: string; provider?: anthropic.HistoryProvider },
  ): { readonly messages: Item[]; readonly system?: string | undefined; readonly lost: readonly anthropic.LostContent[] };
}
// #endregion anthropic

// #region google
interface GoogleEntry {
  googleGenerateContent(options: {
    client: google.GoogleGenAIClient; // new GoogleGenAI(), for the Gemini API or Vertex AI
    model: string;
    id?: string; // "gcp.gemini", or "gcp.vertex_ai" for a client of Vertex AI
    family?: string;
    generation?: 2 | 3; // default: from the model's name; selects the rules for signatures and media
    thinking?: google.GoogleThinking; // { includeThoughts, thinkingBudget, thinkingLevel }
    streamArguments?: boolean; // false; Vertex AI only
    serverTools?: readonly google.GoogleServerTool[]; // run by the service, never calls of the run
    structuredOutput?: boolean; // sends the schema of structuredOutput; true for Gemini 2.5 and later
    finishReasons?: { readonly [word: string]: FinishReason };
    errorWords?: readonly ErrorWord[];
  }): Provider;
}
// #endregion google

// #region ai-sdk
interface AiSdkEntry {
  aiSdkModel(options: {
    model: aiSdk.AiSdkLanguageModel; // openai("gpt-5"), from any provider package for AI SDK 5, 6 or 7; not a model id
    id?: string; // model.provider, such as "openai.responses"
    family?: string;
    providerOptions?: { readonly [provider: string]: { readonly [option: string]: Json } }; // { openai: { reasoningEffort: "low" } }
    headers?: { readonly [name: string]: string };
    providerTools?: { readonly [name: string]: aiSdk.AiSdkProviderTool }; // { web_search: openai.tools.webSearch({}) }
    approveProviderTool?: (request: aiSdk.AiSdkApprovalRequest) => boolean; // default: refuses; { approvalId, toolCallId, toolName, input }
    structuredOutput?: boolean; // false; sends the schema of structuredOutput to the package
    onWarning?: (warning: aiSdk.AiSdkWarning) => void; // parts that could not be sent unchanged
    finishReasons?: { readonly [word: string]: FinishReason };
    errorWords?: readonly ErrorWord[];
  }): Provider; // does not retry: wrap it in withRetry
}
// #endregion ai-sdk

openai satisfies OpenAIEntry;
anthropic satisfies AnthropicEntry;
google satisfies GoogleEntry;
aiSdk satisfies AiSdkEntry;
expectNone<Differing<OpenAIEntry, typeof openai>>();
expectNone<Differing<AnthropicEntry, typeof anthropic>>();
expectNone<Differing<GoogleEntry, typeof google>>();
expectNone<Differing<AiSdkEntry, typeof aiSdk>>();
expectNone<Differing<Parameters<AnthropicEntry["anthropicMessages"]>[0], anthropic.AnthropicMessagesOptions>>();
expectNone<Differing<Parameters<GoogleEntry["googleGenerateContent"]>[0], google.GoogleGenerateContentOptions>>();
expectNone<Differing<Parameters<OpenAIEntry["openaiChat"]>[0], openai.OpenAIChatOptions>>();
expectNone<Differing<Parameters<OpenAIEntry["openaiResponses"]>[0], openai.OpenAIResponsesOptions>>();
