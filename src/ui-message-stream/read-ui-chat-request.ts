// Reads a request of a page: a new message, decisions, and results of calls that wait for the page. Everything else is ignored.

import {
  type ApprovalDecision,
  checkFields,
  isRecord,
  isText,
  type Json,
  listOf,
  recordOf,
  type UnknownRecord,
  type UserMessage,
} from "../core/entry-kit.ts";
import {
  type NodeRequest,
  readId,
  readRequestBody,
  readUserMessage,
  requestChecks,
  RequestError,
  type RequestLimits,
  type UIResult,
} from "../core/web-kit.ts";

/** The content of a request. */
export interface UIChatRequest {
  /** The id of the chat. Check that the user may use it. */
  readonly id: string;
  readonly trigger: "submit" | "regenerate";
  /** The new message; absent if the page regenerates, decides, or adds results. */
  readonly message?: UserMessage | undefined;
  /** The message that the page names: the user message that was edited, or the one to generate again. */
  readonly messageId?: string | undefined;
  /**
   * The message with the calls that `decisions` and `results` are about: the `runId`, or your `messageId`. Compare it with the run
   * that waits, because a page in another tab may be behind.
   */
  readonly continues?: string | undefined;
  /** Decisions by the id of the waiting call, as the option `decisions` of a run takes them. */
  readonly decisions: { readonly [callId: string]: Exclude<ApprovalDecision, { readonly kind: "ask" }> };
  /** Results by the id of the waiting call. */
  readonly results: { readonly [callId: string]: UIResult };
}

/**
 * Reads the request of `useChat`: a web `Request`, a request of node:http, a text, or a parsed body.
 *
 * The page is not trusted. Only the text and the files of a new user message count, and of the last assistant message the answers
 * to approvals and the results that the page added. A call is denied unless its approval says `approved: true`. Edited arguments come
 * in a field `decisions` of the body: `{ [id]: { kind: "modify", args } }`, by the id of the approval. The history, the arguments and the
 * system messages of the page are ignored. If a call does not wait, the run refuses its decision.
 *
 * Throws RequestError with `status` 400, 413 or 415 if the body cannot be used, and LoopError "invalid-option" or "unknown-option"
 * if an option is invalid.
 *
 * @example
 * const { id, message, decisions } = await readUIChatRequest(request, { maxFiles: 3 });
 */
export async function readUIChatRequest(
  requestOrBody: Request | NodeRequest | string | object,
  options: RequestLimits = {},
): Promise<UIChatRequest> {
  checkFields("options", options, requestChecks);
  return readBody(await readRequestBody(requestOrBody, options.maxBytes), options);
}

function readBody(body: unknown, limits: RequestLimits): UIChatRequest {
  if (!isRecord(body) || Array.isArray(body)) throw new RequestError(400, "The body is not an object.");
  const id = readId(body.id, "id");
  if (id === undefined) throw new RequestError(400, 'The body has no "id".');
  if (!Array.isArray(body.messages)) throw new RequestError(400, 'The body has no array "messages".');
  const trigger = readTrigger(body.trigger);
  const messageId = readId(body.messageId, "messageId");
  const facts = { id, trigger, ...(messageId !== undefined && { messageId }) };
  if (trigger === "regenerate") return { ...facts, decisions: {}, results: {} };
  const last: unknown = body.messages.at(-1);
  const role = isRecord(last) ? last.role : undefined;
  if (role === "user")
    return { ...facts, message: readUserMessage(listOf(recordOf(last).parts), limits), ...readAnswers(body, undefined) };
  if (role === "assistant") return { ...facts, ...readAnswers(body, last) };
  throw new RequestError(400, "The last message is neither from the user nor from the assistant.");
}

function readTrigger(trigger: unknown): UIChatRequest["trigger"] {
  if (trigger === "submit-message" || trigger === undefined) return "submit";
  if (trigger === "regenerate-message") return "regenerate";
  throw new RequestError(400, 'The "trigger" of the body must be "submit-message" or "regenerate-message".');
}

type Answers = Pick<UIChatRequest, "continues" | "decisions" | "results">;

/** Reads the answers of the last message, and the decisions beside the messages, which take precedence. */
function readAnswers(body: UnknownRecord, last: unknown): Answers {
  const message = isRecord(last) ? last : lastAssistantOf(body);
  const messageId = readId(message?.id, "id of the last message");
  const parts = last === undefined ? [] : listOf(message?.parts).filter(isRecord);
  const approvals = parts.flatMap((part) => readApproval(part) ?? []);
  const own = readDecisions(body.decisions);
  const decisions = [...approvals, ...own].map(([id, decision]) => [toCallId(id, messageId), decision] as const);
  const results = parts
    .flatMap((part) => readResult(part) ?? [])
    .map(([id, result]) => [toCallId(id, messageId), result] as const);
  const isEmpty = decisions.length + results.length === 0;
  if (last !== undefined && isEmpty)
    throw new RequestError(400, "The last message is from the assistant and has neither decisions nor results.");
  const answers = { decisions: Object.fromEntries(decisions), results: Object.fromEntries(results) };
  return messageId === undefined || isEmpty ? answers : { continues: messageId, ...answers };
}

function lastAssistantOf({ messages }: UnknownRecord): UnknownRecord | undefined {
  return listOf(messages)
    .filter(isRecord)
    .findLast(({ role }) => role === "assistant");
}

/** Returns the id of the call, without the id of the message that makes it unique on the page. */
function toCallId(id: string, messageId: string | undefined): string {
  const prefix = `${messageId}:`;
  return id.startsWith(prefix) ? id.slice(prefix.length) : id;
}

type Decision = UIChatRequest["decisions"][string];

/** Reads an answered approval: the id of its question, and the decision. */
function readApproval({ state, approval }: UnknownRecord): [[string, Decision]] | undefined {
  if (state !== "approval-responded") return undefined;
  const fields = recordOf(approval);
  const id = readId(fields.id, "id of an approval");
  if (id === undefined) throw new RequestError(400, "An answered approval has no id.");
  if (fields.approved === true) return [[id, { kind: "approve" }]];
  return [[id, isText(fields.reason) ? { kind: "deny", reason: fields.reason } : { kind: "deny" }]];
}

/** Reads a result that the page added. Outcomes that the server sent have a mark. */
function readResult(part: UnknownRecord): [[string, UIResult]] | undefined {
  const { state, toolCallId, output, errorText } = part;
  if (!isAdded(part) || (state !== "output-available" && state !== "output-error")) return undefined;
  const id = readId(toolCallId, "toolCallId");
  if (id === undefined) throw new RequestError(400, "A result has no toolCallId.");
  if (state === "output-available") return [[id, { kind: "result", result: (output ?? null) as Json }]];
  return [[id, { kind: "failed", error: isText(errorText) ? errorText : "The page gave no reason." }]];
}

function isAdded({ type, providerExecuted, preliminary }: UnknownRecord): boolean {
  const isTool = isText(type) && (type.startsWith("tool-") || type === "dynamic-tool");
  return isTool && providerExecuted !== true && preliminary !== true;
}

function readDecisions(decisions: unknown): [string, Decision][] {
  if (decisions === undefined || decisions === null) return [];
  if (!isRecord(decisions) || Array.isArray(decisions))
    throw new RequestError(400, 'The "decisions" of the body must be an object.');
  return Object.entries(decisions).map(([id, decision]) => [readId(id, "id of a decision") ?? id, readDecision(decision)]);
}

function readDecision(decision: unknown): Decision {
  if (isRecord(decision)) {
    const { kind, args, reason } = decision;
    if (kind === "approve") return { kind };
    if (kind === "deny") return isText(reason) ? { kind, reason } : { kind };
    if (kind === "modify" && "args" in decision) return { kind, args: args as Json };
  }
  throw new RequestError(400, 'A decision must be { kind: "approve" }, { kind: "deny", reason? } or { kind: "modify", args }.');
}
