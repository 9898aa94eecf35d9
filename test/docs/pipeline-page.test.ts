import { type DesignParts, testMapping } from "./mapped-page.ts";
import { readPage } from "./read-page.ts";

const page = readPage("docs/sources/pipeline.md");

const parts: DesignParts = {
  Stages: [
    ...["runToolLoop", "runGenerationTurn", "iteration", "streamOnce", "streamToDiscord", "AbortController"],
    ...["setChannelToolCallChainActive", "executeToolCall", "handleEnhancedContextRestart", "buildResult", "endTurn"],
    ...["shouldEndAfterPreToolText", "shouldSurfaceUserErrors", "emitToolErrorLoop"],
  ],
  Statuses: [...["function_call", "completed", "error", "timeout", "empty_response", "stopped_by_user", "follow_up_interrupt"]],
  "Loop state": [
    ...["streamResults", "functionHistory", "accumulatedModelParts", "finalText", "detailsText"],
    ...["consecutiveToolErrors", "thoughtLog"],
  ],
  "Text before a call": [
    ...["novelai", "TOOLS_SUPPRESS_FOLLOWUP_AFTER_PRETOOL_TEXT", "accumulatedText", 'buildResult("completed")'],
  ],
  Constants: [
    ...["MAX_FUNCTION_CALL_ITERATIONS", "SOFT_WARN_ITERATION_THRESHOLD", "MAX_CONSECUTIVE_TOOL_ERRORS"],
    ...["STREAM_SDK_CALL_TIMEOUT_MS", "TOOL_EXECUTION_TIMEOUT_MS"],
  ],
  Configuration: [
    ...["BOT_MAX_FUNCTION_CALL_ITERATIONS", "BOT_MAX_CONSECUTIVE_TOOL_ERRORS"],
    ...["STREAM_SDK_CALL_TIMEOUT_MS", "TOOL_EXECUTION_TIMEOUT_MS"],
  ],
  "Input to stage 02": ["params", "streamResult", "iteration"],
  "Output from stage 02": ["restart", "abort", "history", "functionName", "success", "endTurn", "historyEntry"],
  "Steps of a call": ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10"],
  "Tool context": [
    ...["channel", "client", "activePersonaId", "provider", "streamContext", "suppressProgressNotices"],
    ...["contextItems", "messageIdMap", "showKillHint", "abortSignal"],
  ],
  "Tool result": ["success", "error", "endTurn", "imageMetadata"],
  "Context restarts": [
    ...["context_restart_*", "enhanced_context_item", "disable_tools", "pending_context_key", "consecutiveToolErrors"],
  ],
  Invariants: ["executeTool", "functionHistory", "consecutiveToolErrors", "abort", "history", "INFO"],
  "Extension points": [
    ...["ToolRegistry.executeTool", "deliberateToolAllowedNames", "ToolContext.abortSignal", "ToolContext"],
    ...["retainSuccessfulToolAffordance", "handleEnhancedContextRestart"],
  ],
};

testMapping(page, parts);
