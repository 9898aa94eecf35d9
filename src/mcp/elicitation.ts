// Questions of MCP servers to the user. A request does not name its tool call, so it is answered only if exactly one is in progress.

import { cutText, isRecord, LoopError, quote, textOf, type ToolContext, toPlainError } from "../core/entry-kit.ts";
import { type McpClient, onElicitation } from "./mcp-client.ts";
import { readRequestedSchema } from "./requested-schema.ts";

const longestMessage = 2_000;

/** The answer to an elicitation request. */
type ElicitResult = { readonly action: "accept"; readonly content: unknown } | { readonly action: "decline" | "cancel" };

const cancelled: ElicitResult = { action: "cancel" };

/** The tool calls in progress over each client. */
const callsOf = new WeakMap<McpClient, Set<ToolContext>>();

/** Notes a tool call while it is in progress. Returns the function that ends the call. */
export function noteCall(client: McpClient, context: ToolContext): () => void {
  const calls = callsOf.get(client) ?? new Set();
  callsOf.set(client, calls);
  calls.add(context);
  return () => void calls.delete(context);
}

/**
 * Answers the questions of the server. Returns the function that stops answering. Throws LoopError "invalid-option" if the client
 * does not have the capability `elicitation`.
 */
export function answerElicitations(client: McpClient, report: (error: unknown) => void): () => void {
  const answer = async (request: unknown): Promise<ElicitResult> => {
    try {
      return await askUser(client, isRecord(request) && isRecord(request["params"]) ? request["params"] : {});
    } catch (error) {
      report(error);
      return cancelled;
    }
  };
  try {
    return onElicitation(client, answer);
  } catch (cause) {
    const received = `a client that refuses it: ${toPlainError(cause).message}`;
    const expected = 'false, or a client with the capability "elicitation"';
    throw new LoopError("invalid-option", { option: "elicitation", expected, received }, { cause });
  }
}

async function askUser(client: McpClient, params: Readonly<Record<string, unknown>>): Promise<ElicitResult> {
  const [context, other] = callsOf.get(client) ?? [];
  if (context === undefined || other !== undefined)
    throw new Error(
      `The MCP server asked a question while ${context === undefined ? "none" : "more than one"} of its calls was in progress.`,
    );
  const { mode = "form", message, requestedSchema } = params;
  const schema = mode === "form" ? readRequestedSchema(requestedSchema) : undefined;
  if (schema === undefined) throw new Error("The MCP server asked a question with an unsupported mode or schema.");
  const question = `The MCP server ${quote(nameOf(client))} asks: ${cutText(textOf(message), longestMessage)}`;
  try {
    return { action: "accept", content: await context.ask({ question, schema, wait: true, fromPage: true }) };
  } catch (error) {
    if (error instanceof Error && error.name === "AnswerFailed") return { action: "decline" };
    if (context.signal.aborted) return cancelled;
    throw error;
  }
}

/** Returns the name that the server gave itself when the client connected. */
function nameOf(client: McpClient): string {
  const version: unknown = client.getServerVersion?.();
  return isRecord(version) ? textOf(version["title"]) || textOf(version["name"]) : "";
}
