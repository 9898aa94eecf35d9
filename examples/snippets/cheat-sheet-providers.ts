// A summary for llms.txt: the adapters for providers. If a type here differs from the real type, the compiler reports an error.

import type { FinishReason, Json, Message, Provider } from "turnwright";
import * as aiSdk from "turnwright/ai-sdk";
import * as anthropic from "turnwright/anthropic";
import * as google from "turnwright/google";
import * as openai from "turnwright/openai";
import { type ArgumentOf, type Differing, expectNone } from "./same-names.ts";

type Chat = openai.OpenAIChatOptions;
type Responses = openai.OpenAIResponsesOptions;
type ChatClient = Chat["client"];
type ResponsesClient = Responses["client"];
type OpenAIService = NonNullable<Chat["service"]>;
type Reasoning = NonNullable<Responses["reasoning"]>;
type CustomToolFormat = NonNullable<Responses["customTools"]>[string];
type OpenAIServerTool = NonNullable<Responses["serverTools"]>[number];
type ErrorWord = NonNullable<Chat["errorWords"]>[number];
type HistoryProvider = NonNullable<ArgumentOf<typeof openai.fromOpenAIMessages, 1>["provider"]>;
type ReadHistory = ReturnType<typeof openai.fromOpenAIMessages>;
type LostContent = ReadHistory["lost"][number];
type Claude = anthropic.AnthropicMessagesOptions;
type MessagesClient = Claude["client"];
type ClaudeService = NonNullable<Claude["service"]>;
type AnthropicThinking = NonNullable<Claude["thinking"]>;
type AnthropicServerTool = NonNullable<Claude["serverTools"]>[number];
type Gemini = google.GoogleGenerateContentOptions;
type GoogleClient = Gemini["client"];
type GoogleThinking = NonNullable<Gemini["thinking"]>;
type GoogleServerTool = NonNullable<Gemini["serverTools"]>[number];
type AiSdk = aiSdk.AiSdkModelOptions;
type ProviderTool = NonNullable<AiSdk["providerTools"]>[string];
type ApprovalRequest = ArgumentOf<NonNullable<AiSdk["approveProviderTool"]>>;
type Warning = ArgumentOf<NonNullable<AiSdk["onWarning"]>>;

// #region openai
interface OpenAIEntry {
  openaiChat(options: {
    client: ChatClient; // new OpenAI(), or any other client of Chat Completions
    model: string;
    id?: string; // "openai"
    service?: OpenAIService; // the service whose rules the requests follow, such as "mistral"; recognized by address, id or model
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
    client: ResponsesClient; // new OpenAI(), or any other client of Responses
    model: string;
    id?: string; // "openai"
    service?: OpenAIService; // as above
    family?: string;
    store?: boolean; // false: the service stores nothing; with true and false, each request has the whole conversation
    include?: readonly string[]; // ["reasoning.encrypted_content"] if nothing is stored
    compaction?: boolean; // false: the service makes the summaries of compactMessages
    reasoning?: Reasoning; // { effort: "low", summary: "auto" }
    customTools?: { readonly [toolName: string]: CustomToolFormat }; // called with text instead of JSON: args are { input }
    serverTools?: readonly OpenAIServerTool[]; // [{ type: "web_search" }]
    toolSearch?: boolean; // the service finds tools with `deferred`; gpt-5.4 and later
    toolResultMedia?: "tool-message" | "user-message";
    promptCacheKey?: string;
    structuredOutput?: boolean; // as above
    finishReasons?: { readonly [word: string]: FinishReason };
    errorWords?: readonly ErrorWord[];
  }): Provider;
  fromOpenAIMessages(
    messages: readonly object[], // Chat messages, or Responses items
    options?: { api?: "chat" | "responses"; provider?: HistoryProvider; store?: boolean }, // api: recognized
  ): ReadHistory; // { messages, system?, lost }: messages and system for a run
  toOpenAIMessages<Item extends object = openai.OpenAIMessage>(
    // for Responses: toOpenAIMessages<ResponseInputItem>
    messages: readonly Message[],
    options?: { api?: "chat" | "responses"; system?: string; provider?: HistoryProvider; store?: boolean }, // api: "chat"
  ): { readonly messages: Item[]; readonly lost: readonly LostContent[] }; // lost: { index, field, reason }
}
// #endregion openai

// #region anthropic
interface AnthropicEntry {
  anthropicMessages(options: {
    client: MessagesClient; // new Anthropic(), or any other client of Messages
    model: string;
    id?: string; // "anthropic"
    service?: ClaudeService; // the service whose rules the requests follow, such as "bedrock"; recognized by address or id
    family?: string;
    maxTokens?: number; // 16,384, plus the thinking budget
    thinking?: AnthropicThinking; // { type: "adaptive" }, { type: "enabled", budget_tokens }
    cache?: boolean | { readonly ttl?: "5m" | "1h" }; // false
    compaction?: boolean | { readonly instructions?: string }; // false: the service makes the summaries of compactMessages
    betas?: readonly string[];
    apiVersion?: string; // the client's; from "2026-10-21" on, temperature and topP are not sent
    dropsUnfitThinking?: boolean; // true for models that check their thinking
    serverTools?: readonly AnthropicServerTool[]; // run by the service, never calls of the run
    toolSearch?: "bm25" | "regex"; // the service finds tools with `deferred`
    structuredOutput?: boolean; // sends the schema of structuredOutput; true for Anthropic's own address
    finishReasons?: { readonly [word: string]: FinishReason };
    errorWords?: readonly ErrorWord[];
  }): Provider;
  fromAnthropicMessages(
    messages: readonly object[],
    options?: { system?: string | readonly object[]; provider?: HistoryProvider }, // provider: keeps signatures
  ): ReadHistory; // { messages, system?, lost }
  toAnthropicMessages<Item extends object = anthropic.AnthropicMessage>(
    messages: readonly Message[],
    options?: { system?: string; provider?: HistoryProvider },
  ): { readonly messages: Item[]; readonly system?: string | undefined; readonly lost: readonly LostContent[] };
}
// #endregion anthropic

// #region google
interface GoogleEntry {
  googleGenerateContent(options: {
    client: GoogleClient; // new GoogleGenAI(), for the Gemini API or Vertex AI
    model: string;
    id?: string; // "gcp.gemini", or "gcp.vertex_ai" for a client of Vertex AI
    family?: string;
    generation?: 2 | 3; // default: from the model's name; selects the rules for signatures and media
    thinking?: GoogleThinking; // { includeThoughts, thinkingBudget, thinkingLevel }
    streamArguments?: boolean; // false; Vertex AI only
    serverTools?: readonly GoogleServerTool[]; // run by the service, never calls of the run
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
    providerTools?: { readonly [name: string]: ProviderTool }; // { web_search: openai.tools.webSearch({}) }
    approveProviderTool?: (request: ApprovalRequest) => boolean; // default: refuses; { approvalId, toolCallId, toolName, input }
    structuredOutput?: boolean; // false; sends the schema of structuredOutput to the package
    onWarning?: (warning: Warning) => void; // parts that could not be sent unchanged
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
