import { type DesignParts, testMapping } from "./mapped-page.ts";
import { readPage } from "./read-page.ts";

const page = readPage("docs/sources/guards.md");

const parts: DesignParts = {
  generateResponseWithTools: [
    ...["generateResponseWithTools", "request", "toolExecutor", "execute", "Promise", "generateResponse", "validateToolCalls"],
  ],
  ToolLoopOptions: ["maxIterations", "maxCostUSD", "onIteration", "abortSignal"],
  ToolLoopState: ["iteration", "cumulativeCost", "messageCount", "lastToolCalls"],
  "Loop semantics": ["1", "2", "3", "4", "5"],
  "Problems with copied loops": ["caps", "cost", "abort", "errors", "telemetry", "fallback", "one loop"],
  "Non-goals": ["per-iteration logic", "opinions", "schema"],
  ToolLoopConfig: [
    ...["tool_loop", "tool_loop_stream", "Default::default()", "max_iterations", "parallel_tool_execution", "on_tool_call"],
    ...["stop_when", "loop_detection", "timeout", "result_processor", "result_extractor", "result_cacher", "masking"],
    ...["force_mask_iterations", "max_depth"],
  ],
  on_tool_call: ["once per call", "ToolCall", "approve, deny, modify", "re-validated", "Panics"],
  stop_when: [
    ...["after each response", "StopDecision::Stop", "StopDecision::StopWithReason", "StopContext", "final_answer"],
    ...["Token budget", "tool_calls_executed", "Content pattern"],
  ],
  loop_detection: ["identical", "threshold", "LoopAction::InjectWarning"],
  timeout: ["wall-clock", "TerminationReason::Timeout"],
  Results: [
    ...["process", "LoopEvent::ToolResultProcessed", "ProcessedResult::unchanged()", "original_tokens_est", "TruncateProcessor"],
    ...["extraction_threshold", "async", "last user message", "inline_threshold", "summary", "caller", "None"],
  ],
  Masking: ["before each call", "structure", "placeholder", "force", "context_release", "shared"],
  Depth: ["LoopDepth", "MaxDepthExceeded", "None", "Some(3)", "Some(2)"],
};

testMapping(page, parts);
