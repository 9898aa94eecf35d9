// Checks a conversation before it is sent. Each call must have exactly one result, directly after its assistant message.
// Violations are repaired if the caller sets `repair`, and otherwise rejected with the index of the message.

import type { Json } from "../../types/common.ts";
import type { AssistantMessage, Message, ToolMessage, ToolResultPart, UserMessage } from "../../types/message.ts";
import { LoopError } from "../../errors/loop-error.ts";
import { edges, type MessageProblem } from "../../utils/edges.ts";
import { isLiteral, isRecord, type UnknownRecord } from "../../utils/guards.ts";
import { isSameJson } from "../../utils/json.ts";
import { toPlainError } from "../../utils/plain-error.ts";
import { isContentPart, renderOutcome } from "../../tools/to-outcome.ts";
import { seal, sealedCopy } from "./transcript.ts";

export interface CheckedMessages {
  readonly messages: readonly Message[];
  readonly heldIds: ReadonlySet<string>;
}

interface OpenCall {
  readonly callId: string;
  readonly name: string;
}

export function checkMessages(messages: readonly unknown[], repair: boolean): CheckedMessages {
  const heldIds = new Set<string>();
  const checked: Message[] = [];
  let open: readonly OpenCall[] = [];
  placeMessages(messages, repair).forEach(({ value, index }) => {
    const message = assertMessage(value, index);
    if (message.role === "tool") {
      const answer = checkAnswers(message, { open, index, repair });
      if (answer.results.length > 0) checked.push(answer === message ? message : answer);
      open = [];
      return;
    }
    if (open.length > 0) checked.push(...answerOpen(open, index - 1, repair));
    open = message.role === "assistant" ? callsOf(message, { index, heldIds }) : [];
    checked.push(message);
  });
  if (open.length > 0) checked.push(...answerOpen(open, messages.length - 1, repair));
  if (checked.length === 0) throw invalid(0, "nothing-to-send");
  return { messages: checked, heldIds };
}

interface Placed {
  readonly value: unknown;
  readonly index: number;
}

/** With `repair`, joins consecutive tool messages, because other libraries use one tool message for each result. */
function placeMessages(messages: readonly unknown[], repair: boolean): readonly Placed[] {
  if (!repair) return messages.map((value, index) => ({ value, index }));
  const placed: Placed[] = [];
  /**
   * The results of the current group of consecutive tool messages. The loop pushes to this array, because copying it for each
   * message would take quadratic time.
   */
  let joined: unknown[] | undefined;
  messages.forEach((value, index) => {
    if (!isAnswers(value)) {
      joined = undefined;
      placed.push({ value, index });
    } else if (joined === undefined) {
      joined = [...value.results];
      placed.push({ value: { ...value, results: joined }, index });
    } else for (const result of value.results) joined.push(result);
  });
  return placed;
}

function isAnswers(message: unknown): message is { readonly role: "tool"; readonly results: readonly unknown[] } {
  return isRecord(message) && message.role === "tool" && Array.isArray(message.results);
}

interface Seen {
  readonly index: number;
  readonly heldIds: Set<string>;
}

function callsOf(message: AssistantMessage, { index, heldIds }: Seen): readonly OpenCall[] {
  const calls: OpenCall[] = [];
  for (const part of message.content) {
    if (part.type !== "tool-call") continue;
    if (heldIds.has(part.callId)) throw invalid(index, "reused-call-id");
    heldIds.add(part.callId);
    calls.push({ callId: part.callId, name: part.name });
  }
  return calls;
}

interface AnswerCheck {
  readonly open: readonly OpenCall[];
  readonly index: number;
  readonly repair: boolean;
}

function checkAnswers(message: ToolMessage, { open, index, repair }: AnswerCheck): ToolMessage {
  const results = new Map<string, ToolResultPart>();
  const ids = new Set(open.map(({ callId }) => callId));
  for (const result of message.results) {
    const known = ids.has(result.callId) && !results.has(result.callId);
    if (known) results.set(result.callId, result);
    else if (!repair) throw invalid(index, "unknown-result");
  }
  if (results.size === open.length && results.size === message.results.length) return message;
  if (!repair) throw invalid(index, "missing-result");
  return { role: "tool", results: open.map((call) => results.get(call.callId) ?? notRun(call)) };
}

function answerOpen(open: readonly OpenCall[], index: number, repair: boolean): readonly ToolMessage[] {
  if (!repair) throw invalid(index, "missing-results");
  return [{ role: "tool", results: open.map(notRun) }];
}

function notRun({ callId, name }: OpenCall): ToolResultPart {
  const call = { callId, name, args: {} };
  return { callId, name, outcome: "not-run", result: renderOutcome({ call, durationMs: 0, kind: "not-run" }) };
}

const problems: {
  readonly [Role in Message["role"]]: (message: { readonly [field: string]: unknown }) => MessageProblem | undefined;
} = {
  user: ({ content, id }) => {
    if (id !== undefined && !isFilled(id)) return "id";
    return typeof content === "string" || isListOf(content, isContentPart) ? undefined : "user-content";
  },
  assistant: ({ content }) => (isListOf(content, isAssistantPart) ? undefined : "assistant-content"),
  tool: ({ results }) => (isListOf(results, isResult) ? undefined : "results"),
};

export function toUserMessage(given: unknown): UserMessage | undefined {
  try {
    const value = sealedCopy(given);
    const isFit = isRecord(value) && value["role"] === "user" && problems.user(value) === undefined;
    return isFit && isMetadataKept(given, value) ? seal(value as unknown as UserMessage) : undefined;
  } catch {
    return undefined;
  }
}

function assertMessage(given: unknown, index: number): Message {
  const value = withTextPart(copy(given, index));
  if (!isRecord(value)) throw invalid(index, "not-an-object");
  const { role } = value;
  if (role !== "user" && role !== "assistant" && role !== "tool") {
    throw invalid(index, "role", given);
  }
  const problem = problems[role](value);
  if (problem !== undefined) throw invalid(index, problem, given);
  if (!isMetadataKept(given, value)) throw invalid(index, "metadata");
  const misspelt = edges.findMisspelt?.(value);
  if (misspelt !== undefined) throw refuse(index, misspelt);
  return seal(value as unknown as Message);
}

/** Accepts a string as the content of an assistant message, as it is for users. The transcript has a text part instead. */
function withTextPart(value: unknown): unknown {
  if (!isRecord(value) || value["role"] !== "assistant" || typeof value["content"] !== "string") return value;
  const text = value["content"];
  return { ...value, content: text === "" ? [] : [{ type: "text", text }] };
}

/** True if the message has no metadata, or if the copy of the metadata as plain data is complete. */
function isMetadataKept(given: unknown, { metadata: copied }: UnknownRecord): boolean {
  const metadata: unknown = isRecord(given) ? given["metadata"] : undefined;
  return metadata === undefined || (isRecord(metadata) && isLiteral(metadata) && isSameJson(metadata as Json, copied as Json));
}

function copy(value: unknown, index: number): unknown {
  try {
    return sealedCopy(value);
  } catch (error) {
    throw refuse(index, `cannot be written as JSON: ${toPlainError(error).message}`);
  }
}

function isListOf(value: unknown, isItem: (item: { readonly [field: string]: unknown }) => boolean): boolean {
  return Array.isArray(value) && value.every((item) => isRecord(item) && isItem(item));
}

function isAssistantPart(part: { readonly [field: string]: unknown }): boolean {
  if (part["type"] === "text" || part["type"] === "reasoning") return typeof part["text"] === "string";
  return part["type"] === "tool-call" && isFilled(part["callId"]) && isFilled(part["name"]) && part["args"] !== undefined;
}

function isResult(part: { readonly [field: string]: unknown }): boolean {
  const { callId, name, result, content } = part;
  return (
    isFilled(callId) && isFilled(name) && result !== undefined && (content === undefined || isListOf(content, isContentPart))
  );
}

function isFilled(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}

/** `given` is the message of the caller, because our copy of the message contains no binary data. */
function invalid(index: number, problem: MessageProblem, given?: unknown): LoopError<"invalid-messages"> {
  return refuse(index, edges.describeMessage?.(problem, given) ?? problem);
}

function refuse(index: number, problem: string): LoopError<"invalid-messages"> {
  return new LoopError("invalid-messages", { index, problem });
}
