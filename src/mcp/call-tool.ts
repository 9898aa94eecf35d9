import { type ContentPart, type Json, type ToolContext, toolResult, type ToolResult } from "../core/index.ts";
import { isRecord, listOf, recordOf, textOf } from "../core/kit.ts";
import { stableJson, toJson } from "../shared/json.ts";
import { locateMedia, type MediaPart } from "../shared/media-source.ts";
import { cutText, quote } from "../shared/texts.ts";
import { toPlainError } from "../shared/plain-error.ts";
import type { UnknownRecord } from "../shared/guards.ts";
import { type McpAnswer, readAnswer } from "./read-server.ts";
import { trackCall } from "./elicitation.ts";
import type { Recovery } from "./recovery.ts";
import { checkAnswer } from "./read-server.ts";
import { type McpCallParams, type McpClient, type McpProgress, type McpTool, sendCall } from "./mcp-client.ts";

/**
 * Converts the result of an MCP tool call. The result's data is the structured content, or else all text blocks joined with line
 * breaks, or else null. Images become image parts; audio and binary resources become file parts. A link to a resource becomes a line of
 * text. Text that only repeats the structured content is omitted.
 *
 * With `isError`, the result is a failure, whose message contains the text and the structured content, and whose content is the images and
 * files. `_meta` becomes the `metadata` of the result, which only listeners receive.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/server/tools#tool-result
 */
export function toToolResult({ content, structuredContent, isError, task, meta }: McpAnswer): ToolResult {
  const parts = content.map(toPart);
  const texts = parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
  const media = parts.filter((part) => part.type !== "text");
  const metadata = meta !== undefined && Object.keys(meta).length > 0 ? { metadata: meta } : {};
  const structured = withoutBytes(structuredContent, media);
  if (isError) return toolResult({ success: false, message: reasonOf(texts, structured), content: media, ...metadata });
  if (task !== undefined && parts.length === 0) return refuseTask();
  if (structuredContent === undefined) {
    return toolResult({ data: texts.length === 0 ? null : texts.join("\n"), content: media, ...metadata });
  }
  const isCopy = compareWith(structuredContent);
  const other = parts.filter((part) => part.type !== "text" || !isCopy(part.text));
  return toolResult({ data: structured, content: other, ...metadata });
}

/**
 * Replaces the bytes of images and files in structured content. FastMCP copies all content into the structured content, and the model would
 * also receive each image as text (github.com/anthropics/claude-code/issues/70280).
 */
function withoutBytes(structuredContent: unknown, media: readonly ContentPart[]): unknown {
  const bytes = new Set<unknown>(media.map((part) => (part.type === "text" || part.data === "" ? undefined : part.data)));
  if (bytes.size === 0 || structuredContent === undefined) return structuredContent;
  return JSON.parse(JSON.stringify(structuredContent), (_, value: unknown) => (bytes.has(value) ? "(shown below)" : value));
}

function refuseTask(): ToolResult {
  return toolResult({
    success: false,
    message: "This tool runs as an MCP task. MCP tasks are not supported, so the tool cannot be called.",
  });
}

function reasonOf(texts: readonly string[], structuredContent: unknown): string {
  const said = texts.filter((text) => text.trim() !== "");
  if (structuredContent !== undefined && !said.some(compareWith(structuredContent))) said.push(stableJson(structuredContent));
  return said.length === 0 ? "The tool reported an error without a message." : said.join("\n");
}

/**
 * Returns a function that recognizes text that repeats the structured content. Servers send such text for clients that do not support
 * structured content. FastMCP puts the value of a tool that returns no object into the field "result", and repeats the value as text, or
 * each item of a list (github.com/modelcontextprotocol/rust-sdk/issues/355).
 */
function compareWith(structuredContent: unknown): (text: string) => boolean {
  const copy = toJson(structuredContent);
  const values: Json[] = [copy];
  if (isRecord(copy) && Object.keys(copy).join() === "result") {
    const { result } = copy as { readonly result: Json };
    values.push(result, ...(listOf(result) as readonly Json[]));
  }
  const written = new Set<unknown>(values.flatMap((value) => [value, stableJson(value)]));
  return (text) => {
    if (written.has(text)) return true;
    try {
      return written.has(stableJson(JSON.parse(text) as Json));
    } catch {
      return false;
    }
  };
}

function toPart(block: unknown): ContentPart {
  if (!isRecord(block)) return unknownPart("unknown");
  const type = textOf(block.type);
  switch (type) {
    case "text":
      return { type, text: textOf(block.text) };
    case "image":
      return toMedia(block, "image") ?? unknownPart(type);
    case "audio":
      return toMedia(block, "file") ?? unknownPart(type);
    case "resource_link":
      return { type: "text", text: describeLink(block) };
    case "resource":
      return (isRecord(block.resource) ? toResource(block.resource) : undefined) ?? unknownPart(type);
    default:
      return unknownPart(type);
  }
}

function toResource({ uri, mimeType, text, blob }: UnknownRecord): ContentPart | undefined {
  if (typeof blob !== "string") return { type: "text", text: `Resource ${textOf(uri)}:\n${textOf(text)}` };
  const media = toMedia({ mimeType, data: blob }, textOf(mimeType).startsWith("image/") ? "image" : "file");
  const filename = /([^/]+)$/.exec(textOf(uri))?.[1];
  return media === undefined || filename === undefined ? media : { ...media, filename };
}

/**
 * Converts an image or a file. Returns undefined if the data is a URL instead of base64, because the model's service would fetch that URL,
 * which the MCP server chose.
 */
function toMedia({ mimeType, data }: UnknownRecord, type: "image" | "file"): MediaPart | undefined {
  const source = locateMedia({ type, mediaType: textOf(mimeType) || "application/octet-stream", data: textOf(data) });
  return source.kind === "base64" ? { type, mediaType: source.mediaType, data: source.data } : undefined;
}

export function describeLink({ uri, name, title, mimeType, description }: UnknownRecord): string {
  const kind = textOf(mimeType) === "" ? "" : ` (${textOf(mimeType)})`;
  const about = textOf(description) === "" ? "" : `: ${textOf(description)}`;
  return `Resource "${textOf(title) || textOf(name)}"${kind} at ${textOf(uri)}${about}`;
}

function unknownPart(type: string): ContentPart {
  return { type: "text", text: `(content of type ${quote(type)}, which cannot be shown)` };
}

/**
 * The longest timeout that timers allow, in milliseconds. Replaces the SDK's timeout of 60 seconds, because the loop's timeouts
 * apply.
 */
export const maxMs: number = 2 ** 31 - 1;

interface McpCallTarget {
  readonly client: McpClient;
  readonly tool: McpTool;
  readonly meta: ((tool: McpTool, context: ToolContext) => Readonly<Record<string, unknown>> | undefined) | undefined;
  readonly recovery: Recovery;
}

export async function callTool(target: McpCallTarget, args: unknown, context: ToolContext): Promise<ToolResult> {
  const { tool, meta } = target;
  if (!isRecord(args)) return toolResult({ success: false, message: "The arguments must be an object." });
  if (tool.execution?.taskSupport === "required") return refuseTask();
  const made = meta?.(tool, context);
  const params = { name: tool.name, arguments: { ...args }, ...(made === undefined ? {} : { _meta: { ...made } }) };
  try {
    const answer = readAnswer(await sendAgain(target, params, context));
    checkAnswer(tool, answer);
    return toToolResult(answer);
  } catch (error) {
    const pages = listPages(error);
    if (pages.length > 0) return toolResult({ success: false, message: `${openPages}\n${pages.join("\n")}` });
    throw new Error(`The MCP server returned no result: ${describeFailure(error)}`, { cause: error });
  }
}

const openPages =
  "The user must first open a page, for example to log in. Tell the user the address, and call the tool again afterwards.";

/**
 * The error code that a server sends if the user must open a URL first
 * (modelcontextprotocol.io/specification/2025-11-25/client/elicitation).
 */
const urlRequired = -32_042;

const maxReasonLength = 2_000;

/**
 * Lists the web pages that the user must open before the server runs the call. The error's message does not contain them
 * (github.com/strands-agents/harness-sdk/issues/1742).
 */
function listPages(error: unknown): readonly string[] {
  const { code, data } = recordOf(error);
  if (code !== urlRequired) return [];
  return listOf(recordOf(data).elicitations)
    .map(recordOf)
    .filter(({ url }) => /^https?:\/\/\S+$/.test(textOf(url)))
    .map(({ message, url }) => `${cutText(textOf(message), maxReasonLength)}: ${textOf(url)}`);
}

/**
 * Describes an error and its cause, because `fetch` only says "fetch failed" and the cause says why, for example `connect ECONNREFUSED`.
 */
function describeFailure(error: unknown): string {
  const { message, cause } = toPlainError(error);
  const why = cause === undefined ? "" : cause.message || (cause.code ?? "");
  return why === "" || message.includes(why) ? message : `${message}: ${why}`;
}

/** Sends the call once more if the server has refused it because the session is lost or the access token is no longer valid. */
async function sendAgain(target: McpCallTarget, params: McpCallParams, context: ToolContext): Promise<unknown> {
  // Reads the connection now, because another call may have replaced it when this one fails.
  const { transport } = target.client;
  try {
    return await send(target, params, context);
  } catch (error) {
    const lost = findLostSession(error, transport);
    if (lost === undefined || context.signal.aborted) throw error;
    const isBack = await target.recovery.recover(error, context.signal);
    if (!isBack || lost === "may-have-run" || context.signal.aborted) throw error;
    return send(target, params, context);
  }
}

function send(target: McpCallTarget, params: McpCallParams, context: ToolContext): Promise<unknown> {
  return target.recovery.send(() => sendOnce(target, params, context));
}

async function sendOnce({ client, tool }: McpCallTarget, params: McpCallParams, context: ToolContext): Promise<unknown> {
  const cancellation = followSignal(context.signal);
  const endCall = trackCall(client, context);
  try {
    return await sendCall({ client, tool }, params, {
      signal: cancellation.signal,
      timeout: maxMs,
      resetTimeoutOnProgress: true,
      onprogress: (progress) => context.progress(toPlainProgress(progress)),
    });
  } finally {
    endCall();
    cancellation.release();
  }
}

/**
 * Recognizes the errors that both SDK versions throw for a lost session, and for an access token that is no longer valid. A server answers
 * 404 for a session that it has forgotten (modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management), often
 * without a reason (github.com/modelcontextprotocol/rust-sdk/issues/733), and some servers answer 400. A call may have run if its
 * connection was closed before the answer.
 */
function findLostSession(error: unknown, transport: unknown): "not-run" | "may-have-run" | undefined {
  const { message } = toPlainError(error);
  // The SDK throws "Unauthorized" if it could not get a new token (github.com/openclaw/openclaw/issues/98377).
  if (/^(not connected|unauthorized)\b/i.test(message)) return "not-run";
  if (/\bconnection closed\b/i.test(message)) return "may-have-run";
  const statuses = statusesOf(error);
  const isUnknown = statuses.includes(404);
  const isHttp = /\bPOSTing to endpoint\b/.test(message);
  const isRefused = isHttp && (statuses.includes(401) || (isUnknown && recordOf(transport).sessionId !== undefined));
  const isNamed = (isUnknown || statuses.includes(400)) && /\bsession\b|not initialized/i.test(message);
  return isRefused || isNamed ? "not-run" : undefined;
}

function statusesOf(error: unknown): readonly unknown[] {
  if (!isRecord(error)) return [];
  const { code, status, data } = error;
  const inText = /\bHTTP (\d{3})\b/.exec(textOf(error["message"]))?.[1];
  return [code, status, isRecord(data) ? data["status"] : undefined, inText === undefined ? undefined : Number(inText)];
}

function toPlainProgress({ progress, total, message }: McpProgress): McpProgress {
  return { progress, ...(total === undefined ? {} : { total }), ...(message === undefined ? {} : { message }) };
}

/**
 * Returns a separate signal for one request. The SDK must not get the caller's signal. Version 1 of the SDK never removes its listener, and
 * would later cancel requests that have already finished. Versions 1 and 2 would send the caller's abort reason to the server.
 */
export function followSignal(signal: AbortSignal): { readonly signal: AbortSignal; release(): void } {
  const own = new AbortController();
  const cancel = (): void => own.abort("The call was cancelled.");
  if (signal.aborted) cancel();
  else signal.addEventListener("abort", cancel, { once: true });
  return { signal: own.signal, release: () => signal.removeEventListener("abort", cancel) };
}
