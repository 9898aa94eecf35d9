// Sends one call to its server, for as long as the loop lets it run.

import { isRecord, toPlainError, type ToolContext, toolResult, type ToolResult } from "../core/provider-kit.ts";
import { refuseTask, toToolResult } from "./call-result.ts";
import { checkAnswer } from "./check-answer.ts";
import { type McpClient, type McpProgress, type McpTool, sendCall } from "./mcp-client.ts";
import { readAnswer } from "./read-server.ts";

/** The longest that a timer can wait. How long a call may take is the loop's to say, and the SDK's own 60 seconds would cut it. */
const longestMs = 2 ** 31 - 1;

/** Whom to call. */
export interface McpCallTarget {
  readonly client: McpClient;
  readonly tool: McpTool;
  /** Makes the `_meta` of a call. */
  readonly meta: ((tool: McpTool, context: ToolContext) => Readonly<Record<string, unknown>> | undefined) | undefined;
}

/**
 * Calls a tool on its server. Progress that the server reports is the call's; when the call's signal fires, the server is told that
 * the call is cancelled. Rejects where the server gives no result: it is gone, it answers with an error, or its answer does not fit.
 */
export async function callTool({ client, tool, meta }: McpCallTarget, args: unknown, context: ToolContext): Promise<ToolResult> {
  if (!isRecord(args)) return toolResult({ success: false, message: "The arguments must be an object." });
  if (tool.execution?.taskSupport === "required") return refuseTask();
  const made = meta?.(tool, context);
  const params = { name: tool.name, arguments: { ...args }, ...(made === undefined ? {} : { _meta: { ...made } }) };
  const cancellation = followSignal(context.signal);
  try {
    const result = await sendCall({ client, tool }, params, {
      signal: cancellation.signal,
      timeout: longestMs,
      resetTimeoutOnProgress: true,
      onprogress: (progress) => context.progress(toPlainProgress(progress)),
    });
    const answer = readAnswer(result);
    checkAnswer(tool, answer);
    return toToolResult(answer);
  } catch (error) {
    throw new Error(`The MCP server gave no result: ${toPlainError(error).message}`, { cause: error });
  } finally {
    cancellation.release();
  }
}

function toPlainProgress({ progress, total, message }: McpProgress): McpProgress {
  return { progress, ...(total === undefined ? {} : { total }), ...(message === undefined ? {} : { message }) };
}

/**
 * A signal of the call's own. The first generation never takes its listener off, and would cancel a call that is long over; both send the
 * reason to the server, which the caller's own is not meant for.
 */
function followSignal(signal: AbortSignal): { readonly signal: AbortSignal; release(): void } {
  const own = new AbortController();
  const cancel = (): void => own.abort("The call was cancelled.");
  if (signal.aborted) cancel();
  else signal.addEventListener("abort", cancel, { once: true });
  return { signal: own.signal, release: () => signal.removeEventListener("abort", cancel) };
}
