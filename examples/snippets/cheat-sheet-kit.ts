// A summary for llms.txt: interfaces that users implement, tools for tests, and the small entries. If a type here differs from
// the real type, the compiler reports an error.

import type {
  Clock,
  FinishReason,
  Journal,
  Json,
  LoopEvent,
  LoopResult,
  LoopStream,
  Middleware,
  ModelCall,
  ModelChunk,
  ModelRequest,
  Pricing,
  Provider,
  ProviderError,
  ResultPipeline,
  StructuredOutput,
  Tool,
  ToolContext,
  ToolDefinition,
  ToolOutcome,
  ToolRegistry,
} from "turnwright";
import type { LoopEmitter, Validation } from "turnwright/kit";
import type { PromptCacheWatch, DeliberateMode } from "turnwright/middleware";
import * as cache from "turnwright/cache";
import * as config from "turnwright/config";
import * as middleware from "turnwright/middleware";
import * as journal from "turnwright/journal";
import * as prices from "turnwright/prices";
import * as testing from "turnwright/testing";
import type {
  Cassette,
  CassetteRecord,
  EventRecording,
  MockPart,
  MockProvider,
  MockMessage,
  ProviderScenario,
  StrictService,
  SuiteCheck,
  TestClock,
} from "turnwright/testing";
import assert from "node:assert/strict";
import type { GuardrailsEntry, HandoffsEntry } from "./cheat-sheet-agents.ts";
import type { CompactionEntry, TeamEntry } from "./cheat-sheet-long-runs.ts";
import { type ArgumentOf, type Differing, expectNone } from "./same-names.ts";

type ResultCacher = NonNullable<ResultPipeline["cacher"]>;
type DeliberateModeOptions = ArgumentOf<typeof middleware.createDeliberateMode>;
type Environment = ArgumentOf<typeof config.readEnvironment>;
type Problem = ArgumentOf<NonNullable<ArgumentOf<typeof config.readEnvironment, 1>["onProblem"]>>;
type PlannerInput = ArgumentOf<typeof middleware.plannerPrompt>;
type PlannerPrompt = ReturnType<typeof middleware.plannerPrompt>;
type TornLine = ArgumentOf<NonNullable<ArgumentOf<typeof journal.fileJournal, 1>["onTornLine"]>>;
type CutLine = ArgumentOf<NonNullable<ArgumentOf<typeof testing.replayFrom, 1>["onTornLine"]>>;
type MockOptions = ArgumentOf<typeof testing.createMockProvider, 1>;
type RunToolOverrides = ArgumentOf<typeof testing.runTool, 2>;
type ProviderSuiteSetup = ArgumentOf<typeof testing.providerSuite>;
type RegistrySuiteSetup = ArgumentOf<typeof testing.registrySuite>;
type JournalSuiteSetup = ArgumentOf<typeof testing.journalSuite>;
type ConversationStoreSuiteSetup = ArgumentOf<typeof testing.conversationStoreSuite>;
type StrictServiceKind = ArgumentOf<typeof testing.strictService>;
type StrictOptions = ArgumentOf<typeof testing.strictService, 1>;
type StrictAnswers = NonNullable<StrictOptions["answers"]>;
type ChatOddity = Extract<StrictOptions["oddities"], readonly unknown[]>[number];

// #region ports
interface ProviderPort {
  id: string;
  model: string;
  family?: string;
  searchesTools?: boolean; // true: the service finds tools with `deferred` on its own
  structuresOutput?: boolean; // true: requests may have `output`, the schema of the answer, instead of instructions in `system`
  compacts?: boolean; // the service can write summaries itself, from `compactAt` tokens on
  stream(request: ModelRequest, call: ModelCall): AsyncIterable<ModelChunk>; // ends with one "finish", or an "error" chunk, or throws
  // to make several requests in one stream, call call.mayAsk?.([{ provider, model, usage }, ...]) before each further request;
  // if it returns false, the budget is used up: end with the last failure, and the run ends as "max-tokens" or "max-cost"
  // before each request, report the body: call.sending?.(body, { id, model })
}

interface RegistryPort {
  definitions(): readonly ToolDefinition[]; // the same array until something changes
  executeTool(name: string, args: unknown, context: ToolContext): unknown; // a value or a promise
  validate?(name: string, args: unknown): Validation | Promise<Validation>; // { value, unchecked? } or { issues }
  validateResult?(name: string, result: unknown): Validation | Promise<Validation>; // of results from outside
}

interface JournalPort {
  durable?: boolean | undefined; // true: records outlive the process, so the run needs a runId
  readOnly?: boolean | undefined; // true: only replays its records; set by replayJournal
  engine?: boolean | undefined; // true: a workflow engine, which repeats a write until it succeeds
  step<T>(key: string, body: () => T | PromiseLike<T>): T | PromiseLike<T>; // runs body once; the result is a plain object
  read(key: string): unknown; // the recorded result, undefined, or a promise for it
  keys?(): PromiseLike<readonly string[]> | readonly string[]; // the keys of all records; for inspectJournal
  open?(how?: { readonly readOnly?: boolean }): PromiseLike<() => PromiseLike<void>>; // called before the first step; returns a function that unlocks the journal
}
// #endregion ports

// #region testing
interface Testing {
  createMockProvider(
    turns: readonly MockMessage[] | ((request: ModelRequest, index: number) => MockMessage | undefined),
    options?: MockOptions,
  ): MockProvider;
  // parts of an assistant message
  text(said: string, options?: { chunks?: number }): MockPart;
  reasoning(thought: string, options?: { chunks?: number }): MockPart;
  refusal(said: string, options?: { chunks?: number }): MockPart;
  toolCall(name: string, args?: Json, options?: { id?: string; fragments?: number; rawArgs?: string }): MockPart;
  usage(tokens: { inputTokens: number; outputTokens: number }, mode?: "snapshot" | "delta"): MockPart;
  finish(reason: FinishReason, options?: { token?: string; raw?: string }): MockPart;
  details(added: string): MockPart;
  thoughtLog(payload: unknown): MockPart;
  providerMetadata(item: Json): MockPart;
  chunk(verbatim: ModelChunk): MockPart;
  wait(ms: number): MockPart;
  stall(options?: { ignoreSignal?: boolean }): MockPart;
  heartbeat(): MockPart;
  fail(failure: Error | { message?: string; status?: number; code?: string }): MockPart;
  failInBand(error: ProviderError): MockPart;
  endEarly(): MockPart;
  // records and replays a provider's streams; file: a path, or { read(), append(text), clear() }
  recordTo(
    file: string | Cassette,
    provider: Provider,
    options?: { redact?: (record: CassetteRecord) => ModelChunk }, // { stream, chunk }; returns the chunk to write; the run gets the same chunk
  ): Provider;
  replayFrom(
    file: string | Cassette,
    options?: {
      match?: "request" | "order"; // "request": replays the recording of the same request
      timing?: boolean; // false: chunks come without delays
      onTornLine?: (torn: CutLine) => void; // { line, characters } of a last line that a crash cut off
    },
  ): Provider;
  memoryCassette(text?: string): Cassette;
  // a fake model service that refuses what the real one refuses; it has fetch, listen(), requests and refusals
  strictService(
    kind: StrictServiceKind, // "mistral", "openai-chat", "anthropic", ...
    options?: { answers?: StrictAnswers; oddities?: boolean | number | readonly ChatOddity[] },
  ): StrictService;
  // other helpers
  createTestClock(startMs?: number): TestClock; // advance(ms), flush(), runAll(), pending
  runTool(tool: Tool, args?: unknown, overrides?: RunToolOverrides): Promise<ToolOutcome>;
  expectReplays<Result extends LoopResult>(run: (journal: Journal) => Promise<Result>): Promise<Result>; // runs it twice over the same records; throws if the second execution takes other steps
  expectPrefix(result: Pick<LoopResult, "cache">, share?: number): void; // throws if less than 0.95 of the possible prefix was kept; needs watchPromptCache
  recordEvents(emitter?: LoopEmitter, types?: readonly LoopEvent["type"][]): EventRecording; // emitter, events, types(), of(type), outline(), stop()
  providerSuite(setup: ProviderSuiteSetup): readonly SuiteCheck[]; // { title, run() }
  registrySuite(setup: RegistrySuiteSetup): readonly SuiteCheck[];
  journalSuite(setup: JournalSuiteSetup): readonly SuiteCheck[];
  conversationStoreSuite(setup: ConversationStoreSuiteSetup): readonly SuiteCheck[];
  providerScenarios: Record<ProviderScenario["name"], ProviderScenario>;
  createScenarioProvider(scenario: ProviderScenario): MockProvider;
  scenarioTool: ToolDefinition;
}
// #endregion testing

// #region prices
interface PricesEntry {
  // list prices from @pydantic/genai-prices, offline; the cost is undefined if the price list lacks the provider or the model
  genaiPrices(options?: {
    provider?: string; // replaces the iteration's provider: a gen_ai.provider.name, or an id in the catalog
    model?: string;
    date?: Date; // default: the time of the iteration
  }): Pricing;
  genaiContextWindow(options?: { provider?: string; model?: string }): (provider: string, model: string) => number | undefined; // tokens
}
// #endregion prices

// #region config
interface ConfigEntry {
  // pass limits and timeouts to runToolLoop; problems lists invalid variables as { name, value, problem, used }
  readEnvironment(
    env?: Environment, // process.env
    options?: { readonly onProblem?: (problem: Problem) => void },
  ): config.EnvironmentSettings;
}
// #endregion config

// #region deliberate
interface DeliberateEntry {
  createDeliberateMode(options: DeliberateModeOptions): DeliberateMode; // forTurn(turn) makes a gate
}
// #endregion deliberate

// #region tool-search
interface ToolSearchEntry {
  // a registry with find_tools, which finds and loads the tools with `deferred`
  withToolSearch(
    source: ToolRegistry | readonly Tool[],
    options?: {
      defer?: true | ((definition: ToolDefinition) => boolean); // default: the `deferred` trait
      maxResults?: number; // 5; tools that one search loads
      maxTokens?: number; // 1,500; the size of find_tools with its list of names
    },
  ): ToolRegistry;
}
// #endregion tool-search

// #region prompt-cache
interface PromptCacheEntry {
  watchPromptCache(): PromptCacheWatch; // middleware; compares the bodies that adapters report with call.sending; startWith(result.cache?.last) for the next run
}
// #endregion prompt-cache

// #region partial-output
interface PartialOutputEntry {
  partialOutputs<Output>(stream: LoopStream<Output>): AsyncGenerator<middleware.DeepPartial<Output>, void, undefined>; // reads the events of the stream
  createPartialOutput<Output>(output?: StructuredOutput<Output>): middleware.PartialOutput<Output>; // take(event): the new value or undefined
}
// #endregion partial-output

// #region cache
interface CacheEntry {
  createResultCache(options?: {
    store?: cache.ResultStore; // in memory
    ttlMs?: number; // 3,600,000
    maxBytes?: number; // 64 MiB
    threshold?: number; // 2,000
    clock?: Pick<Clock, "now">;
    sources?: readonly cache.ReadSource[]; // none; other texts that the tool read_part reads: fileSource, resourceSource, your own { name, description, open(id, signal) }
  }): { cacher: ResultCacher; tool: Tool<never> };
  directoryStore(path: string): cache.ResultStore; // for createResultCache({ store })
  // the model can read every file below root, unless accepts refuses its path; larger files than maxBytes (2 GiB) are refused
  fileSource(root: string, options?: { name?: string; maxBytes?: number; accepts?: (path: string) => boolean }): cache.ReadSource;
}
// #endregion cache

cache satisfies CacheEntry;

// #region journal
interface JournalEntry {
  // to resume a run, call runToolLoop again with the same file; each run needs its own file and runId
  fileJournal(
    path: string,
    options?: {
      fsync?: boolean; // true: each record waits until it is on disk
      redact?: (record: journal.JournalRecord) => Json; // returns the result to write
      onTornLine?: (torn: TornLine) => void; // { line, bytes } of a last line that a crash cut off
    },
  ): journal.FileJournal;
  // keeps parts of records with more than minBytes in the store; wrap the journal each time that it is used
  withBlobs(recorded: Journal, options: { store: journal.BlobStore; minBytes?: number }): Journal; // 100,000
  fileBlobStore(folder: string): journal.BlobStore; // { put(id, text), get(ids) }
  replayJournal(recorded: Journal): Journal; // calls no model and no tool; the run ends as recorded
  inspectJournal(source: string | Journal): Promise<journal.JournalInspection>; // a path or a journal: status, messages, pendingCalls, usage
}
// #endregion journal

// #region plan
interface PlanEntry {
  withPlanner(
    provider: Provider,
    options?: {
      maxRounds?: number; // 5
      enabled?: boolean; // true
      extraRequirement?: string; // added to the planner's prompt
      extraInstruction?: string; // added to the prompt of the answer, next to action_results
      prompt?: (input: PlannerInput) => PlannerPrompt; // plannerPrompt: { system, user }
      planner?: middleware.Planner; // (input, { signal, heartbeat }) => { next_action?, execution_commands? }; replaces the model
      planRetries?: number; // 2 in each iteration; after that, the run ends as provider-error, no-output
      closesEarly?: boolean; // true: the plan's stream is closed at "response"
    },
  ): Provider;
  // middleware that runs all commands of an iteration with one function
  executePlans(executor: middleware.PlanExecutor): Middleware; // ({ commands, context }) => [{ success?, result?, error? }]
  // returns { purpose, tool_name, kwargs, todo_suggestion, next, success, result, error } for each call in a plan
  planLogs(result: Pick<LoopResult, "messages" | "streamResults">): readonly middleware.PlanRecord[];
  plannerPrompt(input: PlannerInput): PlannerPrompt; // input: userInput, availableTools, donePlans, lastRoundRecords, roundIndex, ...
}
// #endregion plan

testing satisfies Testing;
expectNone<Differing<NonNullable<Parameters<PlanEntry["withPlanner"]>[1]>, ArgumentOf<typeof middleware.withPlanner, 1>>>();
prices satisfies PricesEntry;
config satisfies ConfigEntry;
expectNone<Differing<CacheEntry, typeof cache>>();
expectNone<
  Differing<NonNullable<Parameters<ToolSearchEntry["withToolSearch"]>[1]>, ArgumentOf<typeof middleware.withToolSearch, 1>>
>();
journal satisfies JournalEntry;
expectNone<Differing<Testing, typeof testing>>();
expectNone<Differing<NonNullable<Parameters<Testing["recordTo"]>[2]>, ArgumentOf<typeof testing.recordTo, 2>>>();
expectNone<Differing<NonNullable<Parameters<Testing["replayFrom"]>[1]>, ArgumentOf<typeof testing.replayFrom, 1>>>();
expectNone<Differing<PricesEntry, typeof prices>>();
expectNone<Differing<NonNullable<Parameters<PricesEntry["genaiPrices"]>[0]>, ArgumentOf<typeof prices.genaiPrices>>>();
expectNone<
  Differing<NonNullable<Parameters<PricesEntry["genaiContextWindow"]>[0]>, ArgumentOf<typeof prices.genaiContextWindow>>
>();
expectNone<Differing<ConfigEntry, typeof config>>();
expectNone<Differing<JournalEntry, typeof journal>>();
expectNone<Differing<NonNullable<Parameters<JournalEntry["fileJournal"]>[1]>, ArgumentOf<typeof journal.fileJournal, 1>>>();
expectNone<Differing<Parameters<JournalEntry["withBlobs"]>[1], ArgumentOf<typeof journal.withBlobs, 1>>>();
expectNone<Differing<ProviderPort, Provider>>();
expectNone<Differing<RegistryPort, ToolRegistry>>();
expectNone<Differing<JournalPort, Journal>>();

/** The compiler reports an error here if the summary differs from the real interfaces. */
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

type Checked = DeliberateEntry & PartialOutputEntry & PlanEntry & PromptCacheEntry & TeamEntry & ToolSearchEntry;
expectNone<Differing<Checked & CompactionEntry & GuardrailsEntry & HandoffsEntry, typeof middleware>>();
middleware satisfies Checked;
