import type { Json, UserMessage } from "../core/index.ts";
import { checkFields, isRecord, listOf, recordOf } from "../core/kit.ts";
import { isText } from "../shared/errors/check-fields.ts";
import { parseJson } from "../shared/json.ts";
import type { UnknownRecord } from "../shared/guards.ts";
import { type NodeRequest, readRequestBody, refuseDeep, RequestError } from "../web/read-request-body.ts";
import type { PageAnswer } from "../web/page-values.ts";
import {
  checkAnswers,
  readChatBody,
  readNeeded,
  readUserMessage,
  requestChecks,
  type RequestLimits,
} from "../web/read-user-message.ts";
import { fromPageId, toResultMessageId } from "./page-ids.ts";

/** The content of a request from an AG-UI client. */
export interface AGUIRequest {
  /** The conversation's id. Check that the user may access the conversation. */
  readonly threadId: string;
  /**
   * The id of this AG-UI request, not the `runId` of a loop run. The client uses this id to match events to the request.
   */
  readonly runId: string;
  /**
   * The new user message, with its id on the page. Absent if the request has answers. Pass the message to `host.start`,
   * which recognizes repeated and edited messages.
   */
  readonly message?: UserMessage | undefined;
  /**
   * The `runId` of the run that `answers` belong to. Compare it with the waiting run's `runId`, because another browser tab may show an
   * earlier run.
   */
  readonly continues?: string | undefined;
  /**
   * The page's decisions, results and answers for waiting calls, keyed by call `id`. Pass them as the run's `answers` option. Each has
   * `fromPage: true`.
   */
  readonly answers: { readonly [id: string]: PageAnswer };
}

type Answer = readonly [id: string, answer: PageAnswer];

/**
 * Reads a `RunAgentInput` from an AG-UI client: a web `Request`, a node:http request, a JSON string, or a parsed body.
 *
 * The page is not trusted. Only these parts of the request are used:
 * - the text and the files of a user message, if it is the last message,
 * - the answers in `resume`,
 * - without `resume`, the results of the page's tools: the messages with the role "tool" at the end of the history.
 *
 * A call is approved if its answer has the status `resolved` and `payload.approved: true`; otherwise the call is denied. Edited
 * arguments are read from `payload.args`, and results from `payload.result` or `payload.error`. The run rejects an answer to a
 * call that is not waiting.
 *
 * Throws RequestError with `status` 400, 403, 408, 413 or 415 if the request is invalid. Throws LoopError "invalid-option" or
 * "unknown-option" if an option is invalid. Also throws "invalid-option" if other code has already consumed the body without keeping it.
 *
 * @example
 * const { threadId, runId, message, answers } = await readAGUIRequest(request, { maxFiles: 3 });
 */
export async function readAGUIRequest(
  requestOrBody: Request | NodeRequest | string | object,
  options: RequestLimits = {},
): Promise<AGUIRequest> {
  checkFields("options", options, requestChecks);
  const body = readChatBody(await readRequestBody(requestOrBody, options));
  const { messages } = body;
  const ids = { threadId: readNeeded(body.threadId, "threadId"), runId: readNeeded(body.runId, "runId") };
  const last: unknown = messages.at(-1);
  const entries = readResume(body.resume);
  // When a request answers an interrupt, the last user message in its history is an old one, so it is ignored.
  const isFromUser = entries.length === 0 && isRecord(last) && last.role === "user";
  const given = readAnswers(entries.length > 0 ? entries : readToolMessages(messages));
  if (!isFromUser && Object.keys(given.answers).length === 0)
    throw new RequestError(400, "The request contains no new user message, no answers to interrupts and no tool results.");
  checkAnswers(given.answers, options);
  return { ...ids, ...(isFromUser && { message: readUserMessage(messages, toParts(last.content), options) }), ...given };
}

function readAnswers(given: readonly Answer[]): Pick<AGUIRequest, "continues" | "answers"> {
  const runIds = new Set<string | undefined>();
  const answers = given.map(([pageId, answer]): Answer => {
    const { runId, id } = fromPageId(pageId);
    runIds.add(runId);
    return [id, { ...answer, fromPage: true }];
  });
  if (runIds.size > 1)
    throw new RequestError(400, "The answers belong to more than one run. Send the answers for each run in a separate request.");
  const [continues] = runIds;
  return { ...(continues !== undefined && { continues }), answers: Object.fromEntries(answers) };
}

function readResume(resume: unknown): readonly Answer[] {
  if (resume === undefined || resume === null) return [];
  if (!Array.isArray(resume)) throw new RequestError(400, 'The field "resume" in the request body must be an array.');
  return resume.map((entry) => {
    if (!isRecord(entry)) throw new RequestError(400, 'An entry in "resume" is not an object.');
    return [readNeeded(entry.interruptId, "interruptId"), readPayload(entry)];
  });
}

function readPayload({ status, payload }: UnknownRecord): PageAnswer {
  const fields = recordOf(payload);
  const { approved, args, reason, result, error } = fields;
  if (status === "resolved") {
    if (approved === true) return "args" in fields ? { kind: "modify", args: args as Json } : { kind: "approve" };
    if (approved === undefined && isText(error)) return { kind: "failed", error };
    if (approved === undefined && "result" in fields) return { kind: "result", result: (result ?? null) as Json };
  }
  return isText(reason) ? { kind: "deny", reason } : { kind: "deny" };
}

/** Reads the tool messages at the end of the history. Skips tool messages whose id shows that the server sent them. */
function readToolMessages(messages: readonly unknown[]): readonly Answer[] {
  const others = messages.findLastIndex((message) => !isRecord(message) || message.role !== "tool");
  return messages
    .slice(others + 1)
    .filter(isRecord)
    .flatMap((message): Answer[] => {
      const toolCallId = readNeeded(message.toolCallId, "toolCallId");
      if (message.id === toResultMessageId(toolCallId)) return [];
      if (isText(message.error)) return [[toolCallId, { kind: "failed", error: message.error }]];
      return [[toolCallId, { kind: "result", result: toResult(message.content) }]];
    });
}

/** Parses a tool message's content, because a page's tools return their results as JSON strings. */
function toResult(content: unknown): Json {
  if (!isText(content)) return (content ?? null) as Json;
  const parsed = parseJson(content);
  refuseDeep(parsed, "The content of a tool message");
  return parsed === undefined ? content : (parsed as Json);
}

const mimePattern = /^[\w.+-]+\/[\w.+*-]+$/;

function toParts(content: unknown): readonly unknown[] {
  if (isText(content)) return [{ type: "text", text: content }];
  return listOf(content).map((part) => (isRecord(part) && part.type !== "text" ? toFile(part) : part));
}

/** Converts a file part for `readUserMessage`. AG-UI 0.0 and 1.0 use different part types for files. */
function toFile(part: UnknownRecord): unknown {
  const { type } = part;
  if (type === "binary")
    return {
      ...toFilePart(part.mimeType, isText(part.url) ? { url: part.url } : { data: part.data }),
      filename: part.filename,
    };
  if (type !== "image" && type !== "audio" && type !== "video" && type !== "document") return part;
  const { type: kind, value, mimeType } = recordOf(part.source);
  const mediaType = mimeType ?? (type === "image" ? "image/*" : undefined);
  return {
    ...toFilePart(mediaType, kind === "data" ? { data: value } : { url: kind === "url" ? value : undefined }),
    // CopilotKit and assistant-ui write the name here (github.com/assistant-ui/assistant-ui/issues/5792).
    filename: recordOf(part.metadata).filename,
  };
}

function toFilePart(mediaType: unknown, { url, data }: { readonly url?: unknown; readonly data?: unknown }): object {
  const isUsable = isText(mediaType) && mimePattern.test(mediaType);
  const place = isText(data) && isUsable ? `data:${mediaType};base64,${data}` : url;
  return { type: "file", mediaType: isUsable ? mediaType : undefined, url: place };
}
