// The `turnwright` entry point: the main public API.

import { explainErrors } from "./all-edges.ts";
import { enableJournals } from "./loop/replay/enable-journals.ts";

export type {
  Clock,
  ContentPart,
  JsonSchema,
  PlainError,
  Pricing,
  ProviderError,
  ProviderErrorCode,
  Session,
  StandardSchema,
  Timeouts,
  Usage,
} from "./types/common.ts";
export type {
  ApprovalDecision,
  Approve,
  CallDecision,
  ContextSource,
  ContextStash,
  ResultPipeline,
  StopCondition,
} from "./types/middleware-options.ts";
export type { Middleware, StructuredOutput } from "./types/middleware.ts";
export type { Journal } from "./types/journal.ts";
export type { Json } from "./types/common.ts";
export type { LoopEvent, LoopEvents } from "./types/loop-event.ts";
export type {
  LoopControl,
  LoopLimits,
  LoopOptions,
  NestedLoopOptions,
  Tool,
  ToolContext,
  ToolRegistry,
} from "./types/loop-options.ts";
export type { LoopResult } from "./types/loop-result.ts";
export type { AssistantMessage, Message, ToolMessage, ToolResultPart, UserMessage } from "./types/message.ts";
export type {
  FinishReason,
  ModelCall,
  ModelChunk,
  ModelRequest,
  ModelSettings,
  Provider,
  StreamResult,
  ToolChoice,
} from "./types/provider.ts";
export type { EndReason, LoopStatus } from "./types/termination.ts";
export type { ToolCall, ToolOutcome } from "./types/tool-outcome.ts";
export type { ToolDefinition, ToolResult } from "./types/tool.ts";
export {
  AbortedError,
  CostLimitError,
  isLoopEndedError,
  IterationLimitError,
  LoopEndedError,
  ProviderFailedError,
  SuspendedError,
  TimedOutError,
} from "./errors/loop-ended-error.ts";
export { ask } from "./loop/ask.ts";
export { defer, FatalToolError, isFatalToolError, toolResult } from "./tools/tool-result.ts";
export { isToolResult } from "../shared/to-outcome.ts";
export { enableJournals, explainErrors };
export { isLoopError, LoopError } from "../shared/errors/loop-error.ts";
export { isProviderError, providerError } from "../shared/errors/provider-error.ts";
export { toProviderError } from "../shared/errors/read-sdk-error.ts";
export { memoryJournal } from "./journal/memory-journal.ts";
export type { SavedJournal } from "./loop/journals.ts";
export { repairMessages } from "../shared/repair-messages.ts";
export { parseToolArguments } from "../shared/json.ts";
export { createLoopEvents, type LoopStream, streamToolLoop } from "./loop/stream-tool-loop.ts";
export { generateWithTools, type ToolExecutor } from "./loop/generate-with-tools.ts";
export { createLoopControl } from "./loop/loop-control.ts";
export { runNested } from "./loop/nested/run-nested.ts";
export { runToolLoop } from "./loop/run-tool-loop.ts";
export { unwrap } from "./loop/unwrap.ts";
export { hasToolCall, iterationCountIs, textMatches, tokenBudget, toolCallCountIs } from "./middleware/stop-conditions.ts";
export { approve } from "./middleware/approve.ts";
export { contextRestarts } from "./middleware/context-restarts.ts";
export { deferTools } from "./middleware/deferred-tools.ts";
export { eagerTools } from "./loop/eager-tools.ts";
export { detectLoops } from "./middleware/detect-loops.ts";
export { limitIdenticalCalls } from "./middleware/identical-calls.ts";
export { finalAnswer } from "./middleware/final-answer.ts";
export { gateTools } from "./middleware/gate.ts";
export { maskResults } from "./middleware/mask-results.ts";
export { onIteration, prepareIteration, stopWhen } from "./middleware/iteration-hooks.ts";
export { preToolText } from "./middleware/pre-tool-text.ts";
export { processResults } from "./middleware/process-results.ts";
export { structuredOutput } from "./middleware/structured-output.ts";
export { truncateResults } from "./middleware/truncate-results.ts";
export { withFallback } from "./providers/with-fallback.ts";
export { withRetry } from "./providers/with-retry.ts";
export { contextRestart } from "./loop/context-restart.ts";
export { createContextRelease } from "./loop/context-tools.ts";
export { createContextStash } from "./loop/context-tools.ts";
export { defineAgentTool } from "./loop/nested/define-agent-tool.ts";
export { emitText } from "./loop/nested/emit-text.ts";
export { defineTool, isCallOf } from "./tools/define-tool.ts";
export { createToolRegistry } from "./tools/registry.ts";
export { mergeRegistries, withFilter, withPrefix } from "./tools/merge-registries.ts";

explainErrors();
enableJournals();
