import type { Json, UserMessage } from "../core/index.ts";
import { checkFields, isRecord, listOf, recordOf } from "../core/kit.ts";
import { isText } from "../shared/errors/check-fields.ts";
import type { UnknownRecord } from "../shared/guards.ts";
import { type NodeRequest, readRequestBody, RequestError } from "../web/read-request-body.ts";
import type { PageAnswer } from "../web/page-values.ts";
import {
  checkAnswers,
  type PageMessage,
  readChatBody,
  readId,
  readNeeded,
  readUserMessage,
  requestChecks,
  type RequestLimits,
} from "../web/read-user-message.ts";

/** The content of a request from `useChat`. */
export interface UIChatRequest {
  /** The chat's id. Check that the user may access the chat. */
  readonly id: string;
  readonly trigger: "submit" | "regenerate";
  /**
   * The new user message, with its id on the page. With the trigger "regenerate", the message to answer again, with its `again` field set.
   * Absent if the page sends answers. Pass the message to `host.start`, which recognizes repeated messages, edited messages, and messages
   * to answer again.
   */
  readonly message?: PageMessage | undefined;
  /** The `messageId` from the request: the id of an edited user message, or of the answer to generate again. */
  readonly messageId?: string | undefined;
  /**
   * The id of the message that `answers` belong to: the `runId`, or your `messageId`. Compare it with the waiting run's id, because another
   * browser tab may show an earlier run.
   */
  readonly continues?: string | undefined;
  /**
   * The page's decisions, results and answers for waiting calls, by the call's `id`, for the run's `answers` option. Each has
   * `fromPage: true`.
   */
  readonly answers: { readonly [id: string]: PageAnswer };
}

type Answer = readonly [id: string, answer: PageAnswer];

/**
 * Reads a request from `useChat`: a web `Request`, a node:http request, a JSON string, or a parsed body.
 *
 * The page is not trusted. From a user message, only the id, the text, the files and the metadata are used. `message.metadata` is any
 * object that the page sent. From the last assistant message, only the decisions and results that the page added are used.
 * Everything else is ignored, such as the history and system messages.
 *
 * A call is denied unless its approval has `approved: true`. To edit arguments, the page sends `{ [id]: { kind: "modify", args } }` in the
 * body's `answers` field, where `id` is the id of the approval. To answer a tool's question or a custom wait, the page sends `{ [id]: {
 * kind: "result", result } }` in the same field, where `id` is the `questionId` or the `waitId`. The run rejects a decision about a call
 * that is not waiting.
 *
 * Throws RequestError with `status` 400, 403, 408, 413 or 415 if the request is invalid. Throws LoopError "invalid-option" or
 * "unknown-option" if an option is invalid. Also throws "invalid-option" if other code has read the body and not kept it.
 *
 * @example
 * const { id, message, answers } = await readUIChatRequest(request, { maxFiles: 3 });
 */
export async function readUIChatRequest(
  requestOrBody: Request | NodeRequest | string | object,
  options: RequestLimits = {},
): Promise<UIChatRequest> {
  checkFields("options", options, requestChecks);
  const request = readBody(await readRequestBody(requestOrBody, options), options);
  checkAnswers(request.answers, options);
  return request;
}

function readBody(given: unknown, limits: RequestLimits): UIChatRequest {
  const body = readChatBody(given);
  const id = readNeeded(body["id"], "id");
  const trigger = readTrigger(body.trigger);
  const messageId = readId(body.messageId, '"messageId"');
  const facts = { id, trigger, ...(messageId !== undefined && { messageId }) };
  const last: unknown = body.messages.at(-1);
  const role = isRecord(last) ? last.role : undefined;
  if (trigger === "regenerate") return { ...facts, ...readRegenerated(body.messages, messageId, limits), answers: {} };
  if (role === "user") {
    const message = readMessage(body.messages, limits);
    const isEdited = messageId !== undefined && messageId === message.id;
    return { ...facts, message: isEdited ? { ...message, edited: true } : message, ...readAnswers(body, undefined) };
  }
  if (role === "assistant") return { ...facts, ...readAnswers(body, last) };
  throw new RequestError(400, 'The last message must have the role "user" or "assistant".');
}

/** Reads the message to answer again. The page has removed all later messages. */
function readRegenerated(
  messages: readonly unknown[],
  messageId: string | undefined,
  limits: RequestLimits,
): Pick<UIChatRequest, "message"> | undefined {
  if (recordOf(messages.at(-1)).role !== "user") return undefined;
  return { message: { ...readMessage(messages, limits), again: messageId ?? true } };
}

/** Reads the new message. Ignores metadata that is not an object. */
function readMessage(messages: readonly unknown[], limits: RequestLimits): UserMessage {
  const { parts, metadata } = recordOf(messages.at(-1));
  const message = readUserMessage(messages, listOf(parts), limits);
  // Safe cast: the body was parsed from JSON.
  return isRecord(metadata) ? { ...message, metadata: metadata as UserMessage["metadata"] } : message;
}

function readTrigger(trigger: unknown): UIChatRequest["trigger"] {
  if (trigger === "submit-message" || trigger === undefined) return "submit";
  if (trigger === "regenerate-message") return "regenerate";
  throw new RequestError(400, 'The field "trigger" in the request body must be "submit-message" or "regenerate-message".');
}

/** Reads answers from the last message and from the body's `answers` field, which takes precedence. */
function readAnswers(body: UnknownRecord, last: unknown): Pick<UIChatRequest, "continues" | "answers"> {
  const message = isRecord(last) ? last : lastAssistantOf(body);
  const messageId = readId(message?.id, "id of the last message");
  const parts = last === undefined ? [] : listOf(message?.parts).filter(isRecord);
  const given = [...parts.flatMap((part) => readApproval(part) ?? readResult(part) ?? []), ...readOwn(body.answers)];
  if (last !== undefined && given.length === 0)
    throw new RequestError(
      400,
      "The last message is from the assistant, but has no decisions or results. Send a user message, or answer a waiting call.",
    );
  const answers = Object.fromEntries(given.map(([id, answer]) => [toCallId(id, messageId), { ...answer, fromPage: true }]));
  return messageId === undefined || given.length === 0 ? { answers } : { continues: messageId, answers };
}

function lastAssistantOf({ messages }: UnknownRecord): UnknownRecord | undefined {
  return listOf(messages)
    .filter(isRecord)
    .findLast(({ role }) => role === "assistant");
}

/** Removes the message id from a call id that the page sent. The rest is the `id` in `result.pendingCalls`. */
function toCallId(id: string, messageId: string | undefined): string {
  const prefix = `${messageId}:`;
  return id.startsWith(prefix) ? id.slice(prefix.length) : id;
}

/** Returns the approval id and the decision if the user has answered this part's approval request, otherwise undefined. */
function readApproval({ state, approval }: UnknownRecord): readonly [Answer] | undefined {
  if (state !== "approval-responded") return undefined;
  const fields = recordOf(approval);
  const id = readId(fields.id, "id of an approval");
  if (id === undefined)
    throw new RequestError(400, "A part in the last message answers an approval request but has no approval id.");
  if (fields.approved === true) return [[id, { kind: "approve" }]];
  return [[id, isText(fields.reason) ? { kind: "deny", reason: fields.reason } : { kind: "deny" }]];
}

/** Returns the call id and the result if the page added a result to this part, otherwise undefined. */
function readResult(part: UnknownRecord): readonly [Answer] | undefined {
  const { state, toolCallId, output, errorText } = part;
  if (!isAdded(part) || (state !== "output-available" && state !== "output-error")) return undefined;
  const id = readId(toolCallId, '"toolCallId"');
  if (id === undefined) throw new RequestError(400, "A part in the last message has a result but no toolCallId.");
  if (state === "output-available") return [[id, { kind: "result", result: (output ?? null) as Json }]];
  return [[id, { kind: "failed", error: isText(errorText) ? errorText : "The page gave no reason." }]];
}

function isAdded({ type, providerExecuted, preliminary }: UnknownRecord): boolean {
  const isTool = isText(type) && (type.startsWith("tool-") || type === "dynamic-tool");
  return isTool && providerExecuted !== true && preliminary !== true;
}

/** Reads the body's `answers` field: edited approvals, and answers to questions. */
function readOwn(answers: unknown): readonly Answer[] {
  if (answers === undefined || answers === null) return [];
  if (!isRecord(answers) || Array.isArray(answers))
    throw new RequestError(400, 'The field "answers" in the request body must be an object.');
  return Object.entries(answers).map(([id, answer]): Answer => [readId(id, "id of an answer") ?? id, readAnswer(answer)]);
}

function readAnswer(answer: unknown): PageAnswer {
  const { kind, args, reason, result, error } = recordOf(answer);
  if (kind === "approve") return { kind };
  if (kind === "deny") return isText(reason) ? { kind, reason } : { kind };
  if (kind === "modify" && args !== undefined) return { kind, args: args as Json };
  if (kind === "result") return { kind, result: (result ?? null) as Json };
  if (kind === "failed" && isText(error)) return { kind, error };
  throw new RequestError(
    400,
    'An answer must be { kind: "approve" }, { kind: "deny", reason? }, { kind: "modify", args }, { kind: "result", result } or { kind: "failed", error }.',
  );
}
