// Types that no entry exports by name. A program that needs such a name derives it from an exported function or type.

import type {
  defineAgentTool,
  detectLoops,
  finalAnswer,
  generateWithTools,
  LoopEndedError,
  LoopError,
  LoopOptions,
  LoopResult,
  maskResults,
  onIteration,
  prepareIteration,
  preToolText,
  providerError,
  structuredOutput,
  ToolContext,
  truncateResults,
  contextRestarts,
} from "turnwright";
import type { ToolSchema } from "turnwright/kit";
import type { OpenAIChatOptions } from "turnwright/openai";

type Options<Create extends (...args: never) => unknown> = NonNullable<Parameters<Create>[0]>;

export type ContextOptions = Options<typeof contextRestarts>;
export type FinalAnswerReserve = NonNullable<Options<typeof finalAnswer>["reserve"]>;
export type LoopDetectionOptions = Options<typeof detectLoops>;
export type LoopAction = NonNullable<LoopDetectionOptions["action"]>;
export type MaskingOptions = Options<typeof maskResults>;
export type OnIteration = Options<typeof onIteration>;
export type PrepareIteration = Options<typeof prepareIteration>;
export type PreToolTextPolicy = Options<typeof preToolText>;
export type StructuredOutputOptions = NonNullable<Parameters<typeof structuredOutput>[1]>;
export type TruncateResultsOptions = Options<typeof truncateResults>;
export type TruncatedResults = ReturnType<typeof truncateResults>;

export type GenerateOptions = NonNullable<Parameters<typeof generateWithTools>[3]>;
export type GenerateRequest = Parameters<typeof generateWithTools>[1];
export type ProviderErrorFacts = NonNullable<Parameters<typeof providerError>[2]>;
export type ErrorWord = NonNullable<OpenAIChatOptions["errorWords"]>[number];
export type LoopErrorCode = LoopError["code"];
export type EndedKind = LoopEndedError["reason"]["kind"];
export type EndedResult<Kind extends EndedKind = EndedKind> = LoopEndedError<Kind>["result"];
export type ThoughtLogOwner = NonNullable<LoopResult["thoughtLogOwner"]>;
export type ToolHistoryEntry = LoopResult["functionHistory"][number];
export type ToolChange = Parameters<NonNullable<LoopOptions["allowToolChange"]>>[0];
export type Deferred = ReturnType<ToolContext["defer"]>;
export type AgentToolFields = NonNullable<Parameters<typeof defineAgentTool<unknown, ToolSchema>>[0]>;
