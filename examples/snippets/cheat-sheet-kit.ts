// The ports, the testing kit and the small entries in short, as llms.txt shows them. What differs from the real ones does not compile.

import type {
  Agent,
  FinishReason,
  Journal,
  Json,
  JsonSchema,
  LoopEmitter,
  LoopEvent,
  LoopResult,
  ModelCall,
  ModelChunk,
  ModelRequest,
  Pricing,
  Provider,
  ProviderError,
  ResultStore,
  StandardSchema,
  Tool,
  ToolContext,
  ToolDefinition,
  ToolOutcome,
  ToolRegistry,
  ToolTraits,
  Validation,
} from "turnwright";
import * as aiSdk from "turnwright/ai-sdk";
import * as anthropic from "turnwright/anthropic";
import * as google from "turnwright/google";
import * as cache from "turnwright/cache";
import * as config from "turnwright/config";
import * as journal from "turnwright/journal";
import * as jsonSchema from "turnwright/json-schema";
import * as openai from "turnwright/openai";
import * as plan from "turnwright/plan";
import * as prices from "turnwright/prices";
import * as testing from "turnwright/testing";
import type {
  EventRecording,
  MockOptions,
  MockPart,
  MockProvider,
  MockTurn,
  ProviderScenario,
  ProviderSuiteSetup,
  RegistrySuiteSetup,
  RunToolOverrides,
  SuiteCheck,
  TestClock,
} from "turnwright/testing";
import * as toolsEntry from "turnwright/tools";
import assert from "node:assert/strict";
import { type Differing, expectNone } from "./same-names.ts";

// #region ports
interface ProviderPort {
  id: string;
  model: string;
  family?: string;
  stream(request: ModelRequest, call: ModelCall): AsyncIterable<ModelChunk>; // ends with one "finish", or an "error" chunk, or throws
}

interface RegistryPort {
  definitions(): readonly ToolDefinition[]; // one array for as long as nothing changes
  executeTool(name: string, args: unknown, context: ToolContext): unknown; // a value or a promise
  validate?(name: string, args: unknown): Validation | Promise<Validation>; // { value, unchecked? } or { issues }
  agentOf?(name: string): Agent | undefined; // for tools of defineAgentTool
}

interface JournalPort {
  durable: boolean;
  ordered?: boolean; // steps have to come in the same order in each execution
  step: Journal["step"]; // <T>(step: { key, kind, input, run }) => T | PromiseLike<T>
  all: Journal["all"]; // several steps at once, answers in their order
  open?(how?: { readonly readOnly?: boolean }): PromiseLike<() => PromiseLike<void>>; // before the first step; gives what lets go of it
  replays?(key: string): PromiseLike<boolean> | boolean; // set by replayJournal: whether a step is recorded
  wait?(key: string): PromiseLike<Json>; // there: a call that is asked about waits for its decision under this key, and the run does not end
}
// #endregion ports

// #region testing
interface Testing {
  createMockProvider(
    turns: readonly MockTurn[] | ((request: ModelRequest, index: number) => MockTurn | undefined),
    options?: MockOptions,
  ): MockProvider;
  // what a turn is made of
  text(said: string, options?: { chunks?: number }): MockPart;
  reasoning(thought: string, options?: { chunks?: number }): MockPart;
  refusal(said: string, options?: { chunks?: number }): MockPart;
  toolCall(name: string, args?: Json, options?: { id?: string; fragments?: number; rawArgs?: string }): MockPart;
  usage(tokens: { inputTokens: number; outputTokens: number }, mode?: "snapshot" | "delta"): MockPart;
  finish(reason: FinishReason, options?: { token?: string; raw?: string }): MockPart;
  details(added: string): MockPart;
  thoughtLog(payload: unknown): MockPart;
  native(item: Json): MockPart;
  chunk(verbatim: ModelChunk): MockPart;
  wait(ms: number): MockPart;
  stall(options?: { ignoreSignal?: boolean }): MockPart;
  heartbeat(): MockPart;
  fail(failure: Error | { message?: string; status?: number; code?: string }): MockPart;
  failInBand(error: ProviderError): MockPart;
  endEarly(): MockPart;
  // the rest of the kit
  createTestClock(startMs?: number): TestClock; // advance(ms), flush(), runAll(), pending
  runTool(tool: Tool, args?: unknown, overrides?: RunToolOverrides): Promise<ToolOutcome>;
  recordEvents(emitter?: LoopEmitter, types?: readonly LoopEvent["type"][]): EventRecording; // emitter, events, types(), of(type), outline(), stop()
  providerSuite(setup: ProviderSuiteSetup): readonly SuiteCheck[]; // { title, run() }
  registrySuite(setup: RegistrySuiteSetup): readonly SuiteCheck[];
  providerScenarios: Record<ProviderScenario["name"], ProviderScenario>;
  createScenarioProvider(scenario: ProviderScenario): MockProvider;
  scenarioTool: ToolDefinition;
}
// #endregion testing

// #region openai
interface OpenAIEntry {
  openaiChat(options: {
    client: openai.OpenAIChatClient; // new OpenAI(), or any other client of Chat Completions
    model: string;
    id?: string; // "openai"
    family?: string;
    includeUsage?: boolean; // true
    maxTokensField?: "max_completion_tokens" | "max_tokens";
    echoReasoning?: "reasoning_content" | "reasoning";
    toolResultMedia?: "user-message" | "tool-message";
    toWireCallId?: (callId: string) => string;
  }): Provider;
  openaiResponses(options: {
    client: openai.OpenAIResponsesClient; // new OpenAI(), or any other client of Responses
    model: string;
    id?: string; // "openai"
    family?: string;
    store?: boolean; // false: the service keeps nothing; each request has the whole conversation either way
    include?: readonly string[]; // ["reasoning.encrypted_content"] where nothing is stored
    reasoning?: openai.OpenAIReasoning; // { effort: "low", summary: "auto" }
    customTools?: { readonly [toolName: string]: openai.OpenAICustomToolFormat }; // called with a text: args are { input }
    serverTools?: readonly openai.OpenAIServerTool[]; // [{ type: "web_search" }]
    toolResultMedia?: "tool-message" | "user-message";
  }): Provider;
}
// #endregion openai

// #region anthropic
interface AnthropicEntry {
  anthropicMessages(options: {
    client: anthropic.AnthropicMessagesClient; // new Anthropic(), or any other client of Messages
    model: string;
    id?: string; // "anthropic"
    family?: string;
    maxTokens?: number; // 16,384, plus the thinking budget
    thinking?: anthropic.AnthropicThinking; // { type: "adaptive" }, { type: "enabled", budget_tokens }
    cache?: boolean | { readonly ttl?: "5m" | "1h" }; // false
    betas?: readonly string[];
    serverTools?: readonly anthropic.AnthropicServerTool[]; // run by the service, never calls of the run
  }): Provider;
}
// #endregion anthropic

// #region google
interface GoogleEntry {
  googleGenerateContent(options: {
    client: google.GoogleGenAIClient; // new GoogleGenAI(), for the Gemini API or Vertex AI
    model: string;
    id?: string; // "gcp.gemini", or "gcp.vertex_ai" for a client of Vertex AI
    family?: string;
    generation?: 2 | 3; // by the model's name: whose rules on signatures and media hold
    thinking?: google.GoogleThinking; // { includeThoughts, thinkingBudget, thinkingLevel }
    streamArguments?: boolean; // false; Vertex AI only
    serverTools?: readonly google.GoogleServerTool[]; // run by the service, never calls of the run
  }): Provider;
}
// #endregion google
// #region ai-sdk
interface AiSdkEntry {
  aiSdkModel(options: {
    model: aiSdk.AiSdkLanguageModel; // openai("gpt-5"), of any provider package of AI SDK 5, 6 or 7; no id
    id?: string; // model.provider, such as "openai.responses"
    family?: string;
    providerOptions?: { readonly [provider: string]: { readonly [option: string]: Json } }; // { openai: { reasoningEffort: "low" } }
    headers?: { readonly [name: string]: string };
    providerTools?: { readonly [name: string]: aiSdk.AiSdkProviderTool }; // { web_search: openai.tools.webSearch({}) }
    approveProviderTool?: (request: aiSdk.AiSdkApprovalRequest) => boolean; // says no; { approvalId, toolCallId, toolName, input }
    onWarning?: (warning: aiSdk.AiSdkWarning) => void; // what could not be sent as it was
  }): Provider; // does not retry: withRetry around it
}
// #endregion ai-sdk
// #region tools
interface ToolsEntry {
  // a tool of the AI SDK, OpenAI Agents, the Anthropic SDK or LangChain, told by its shape; those of the AI SDK need a name
  importTool(tool: object, overrides?: ToolOverrides): Tool<unknown>;
  importTools(
    tools: readonly object[] | Record<string, object>,
    overrides?: Record<string, ToolOverrides>,
  ): readonly Tool<unknown>[];
  mergeRegistries(...sources: ToolSource[]): ToolRegistry; // two tools of one name: LoopError "duplicate-tool"
  withPrefix(source: ToolSource, prefix: string): ToolRegistry;
  withFilter(source: ToolSource, filter: Iterable<string> | ((definition: ToolDefinition) => boolean)): ToolRegistry; // the others cannot be called
}

type ToolSource = ToolRegistry | readonly Tool[];

interface ToolOverrides extends ToolTraits {
  name?: string;
  description?: string;
  inputSchema?: StandardSchema | JsonSchema; // in place of the tool's own
  jsonSchema?: JsonSchema; // shown where the schema cannot say what it takes
}
// #endregion tools

// #region json-schema
interface JsonSchemaEntry {
  // over @cfworker/json-schema; a $ref to somewhere else is refused at once, and nothing is fetched
  fromJsonSchema<Output = unknown>(schema: JsonSchema): StandardSchema<Output>;
  withValidation(tools: ToolSource): ToolRegistry; // checks what nobody has checked, by the schema that the model is shown
}
// #endregion json-schema

// #region prices
interface PricesEntry {
  // list prices of @pydantic/genai-prices, offline; undefined where the exact provider or the model is not in its catalogue
  genaiPrices(options?: {
    provider?: string; // in place of the pass's own: a gen_ai.provider.name, or an id of the catalogue
    model?: string;
    date?: Date; // the time of the pass
  }): Pricing;
}
// #endregion prices

// #region config
interface ConfigEntry {
  // limits and timeouts go to runToolLoop as they are; problems are { name, value, problem, used }
  readEnvironment(
    env?: config.Environment, // process.env
    options?: { readonly onProblem?: (problem: config.EnvironmentProblem) => void },
  ): config.EnvironmentSettings;
}
// #endregion config

// #region cache
interface CacheEntry {
  directoryStore(path: string): ResultStore; // for createResultCache({ store })
}
// #endregion cache

cache satisfies CacheEntry;

// #region journal
interface JournalEntry {
  // the same call over the same file goes on where it was; one file and one runId for each run
  fileJournal(
    path: string,
    options?: {
      fsync?: boolean; // true: each record waits until the disk has it
      redact?: (record: journal.JournalRecord) => Json; // gives the answer that is written
      onTornLine?: (torn: journal.TornLine) => void; // { line, bytes } of a last line that a crash cut off
    },
  ): journal.FileJournal;
  replayJournal(recorded: Journal): Journal; // asks and runs nothing; the run ends as recorded
}
// #endregion journal

// #region plan
interface PlanEntry {
  withPlanner(
    provider: Provider,
    options?: {
      maxRounds?: number; // 5
      enabled?: boolean; // true
      extraRequirement?: string; // told to the planner
      extraInstruction?: string; // told to the answering model, beside action_results
      prompt?: (input: plan.PlannerInput) => plan.PlannerPrompt; // plannerPrompt: { system, user }
      planner?: plan.Planner; // (input, { signal, heartbeat }) => { next_action?, execution_commands? }, in place of the model
      planRetries?: number; // 2 in each pass; then the run ends as provider-error, no-output
      closesEarly?: boolean; // true: a plan is read no further than to "response"
    },
  ): Provider;
  // { purpose, tool_name, kwargs, todo_suggestion, next, success, result, error } of each planned call
  planLogs(result: Pick<LoopResult, "messages" | "streamResults">): readonly plan.PlanRecord[];
  plannerPrompt(input: plan.PlannerInput): plan.PlannerPrompt; // input: userInput, availableTools, donePlans, lastRoundRecords, roundIndex, ...
}
// #endregion plan

toolsEntry satisfies ToolsEntry;
expectNone<Differing<ToolsEntry, typeof toolsEntry>>();
expectNone<Differing<ToolOverrides, toolsEntry.ImportOverrides>>();
jsonSchema satisfies JsonSchemaEntry;
expectNone<Differing<JsonSchemaEntry, typeof jsonSchema>>();
testing satisfies Testing;
plan satisfies PlanEntry;
expectNone<Differing<PlanEntry, typeof plan>>();
expectNone<Differing<NonNullable<Parameters<PlanEntry["withPlanner"]>[1]>, plan.PlannerOptions>>();
openai satisfies OpenAIEntry;
anthropic satisfies AnthropicEntry;
google satisfies GoogleEntry;
aiSdk satisfies AiSdkEntry;
prices satisfies PricesEntry;
config satisfies ConfigEntry;
expectNone<Differing<CacheEntry, typeof cache>>();
journal satisfies JournalEntry;
expectNone<Differing<Testing, typeof testing>>();
expectNone<Differing<OpenAIEntry, typeof openai>>();
expectNone<Differing<AnthropicEntry, typeof anthropic>>();
expectNone<Differing<GoogleEntry, typeof google>>();
expectNone<Differing<AiSdkEntry, typeof aiSdk>>();
expectNone<Differing<PricesEntry, typeof prices>>();
expectNone<Differing<NonNullable<Parameters<PricesEntry["genaiPrices"]>[0]>, prices.GenaiPricesOptions>>();
expectNone<Differing<ConfigEntry, typeof config>>();
expectNone<Differing<JournalEntry, typeof journal>>();
expectNone<Differing<NonNullable<Parameters<JournalEntry["fileJournal"]>[1]>, journal.FileJournalOptions>>();
expectNone<Differing<Parameters<AnthropicEntry["anthropicMessages"]>[0], anthropic.AnthropicMessagesOptions>>();
expectNone<Differing<Parameters<GoogleEntry["googleGenerateContent"]>[0], google.GoogleGenerateContentOptions>>();
expectNone<Differing<Parameters<OpenAIEntry["openaiChat"]>[0], openai.OpenAIChatOptions>>();
expectNone<Differing<Parameters<OpenAIEntry["openaiResponses"]>[0], openai.OpenAIResponsesOptions>>();
expectNone<Differing<ProviderPort, Provider>>();
expectNone<Differing<RegistryPort, ToolRegistry>>();
expectNone<Differing<JournalPort, Journal>>();

/** What the sheet says of a port has to hold of the port itself. */
const holds: {
  readonly provider: (provider: ProviderPort) => Provider;
  readonly registry: (registry: RegistryPort) => ToolRegistry;
  readonly journal: (journal: JournalPort) => Journal;
} = {
  provider: (provider) => provider,
  registry: (registry) => registry,
  journal: (journal) => journal,
};
assert.deepEqual(Object.keys(holds), ["provider", "registry", "journal"]);
