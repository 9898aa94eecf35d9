// The public function that runs the loop.

import type { Plain } from "../types/common.ts";
import type { LoopEvent } from "../types/loop-event.ts";
import type { LoopOptions, Tool } from "../types/loop-options.ts";
import type { LoopResult } from "../types/loop-result.ts";
import type { EventQueue } from "../../shared/event-queue.ts";
import { beginLoop, type BegunLoop } from "../run/run-tool-loop.ts";

/**
 * Runs a model and its tools until there is an answer, a limit is reached, or the caller ends the run. However the run ends, the
 * promise resolves to a result with the status, the transcript, the calls and the usage. With `structuredOutput`, `result.output`
 * is the answer as a validated value.
 *
 * Rejects for misuse, before any request, with a LoopError: "invalid-option", "unknown-option", "invalid-messages",
 * "duplicate-tool", "invalid-tool", "invalid-schema", "already-running", "journal-mismatch", "tools-changed". Also rejects if the
 * journal hangs, with "journal-unresponsive", or throws an error, with that error. In both cases, `error.details.partial` is the
 * result so far.
 *
 * @example
 * const result = await runToolLoop({
 *   provider: openaiChat({ client: new OpenAI(), model: "gpt-5" }),
 *   tools: [weather],
 *   messages: [{ role: "user", content: "Do I need a coat in Oslo?" }],
 * });
 * console.log(result.status, result.reason.kind, result.text);
 */
export async function runToolLoop<Output = unknown, T extends Tool = Tool>(
  options: LoopOptions<Output, T>,
): Promise<LoopResult<Plain<Output>, T>> {
  // The cast is safe: the schema and the tools in `options` determine the types of the output and the calls.
  return beginRun(options).result as Promise<LoopResult<Plain<Output>, T>>;
}

/** Begins a run whose events also go to `queue`. Throws synchronously for invalid options. */
export function beginRun(options: LoopOptions, queue?: EventQueue<LoopEvent>): BegunLoop {
  return beginLoop(options, { queue });
}
