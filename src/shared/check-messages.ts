// Checks a conversation before it is sent. Each call needs exactly one result, directly after its assistant message.

import type { Message, ToolMessage, UserMessage } from "../core/types/message.ts";
import { LoopError } from "./errors/loop-error.ts";
import { edges, type MessageProblem } from "./edges.ts";
import { isRecord, type UnknownRecord } from "./guards.ts";
import { toPlainError } from "./plain-error.ts";
import { seal, sealedCopy } from "./transcript.ts";

export interface CheckedMessages {
  readonly messages: readonly Message[];
  readonly heldIds: ReadonlySet<string>;
}

/** Checks and copies messages. Throws LoopError "invalid-messages" with the index of a message that cannot be sent. */
export function checkMessages(given: readonly unknown[]): CheckedMessages {
  const messages: Message[] = [];
  const heldIds = new Set<string>();
  /** The newest assistant message's calls that have no results yet. */
  const open = new Set<string>();
  for (const [index, value] of given.entries()) {
    const message = assertMessage(value, index);
    const results = takeResults(message, open, index);
    for (const callId of callIdsOf(message)) {
      if (heldIds.has(callId)) throw invalid(index, "reused-call-id");
      heldIds.add(callId);
      open.add(callId);
    }
    if (results?.length !== 0) messages.push(message);
  }
  if (open.size > 0) throw invalid(given.length - 1, "missing-results");
  if (messages.length === 0) throw invalid(0, "nothing-to-send");
  return { messages, heldIds };
}

function takeResults(message: Message, open: Set<string>, index: number): ToolMessage["results"] | undefined {
  const results = message.role === "tool" ? message.results : undefined;
  if (results?.every(({ callId }) => open.delete(callId)) === false) throw invalid(index, "unknown-result");
  if (open.size === 0) return results;
  throw results === undefined ? invalid(index - 1, "missing-results") : invalid(index, "missing-result");
}

function callIdsOf(message: Message): readonly string[] {
  if (message.role !== "assistant") return [];
  return message.content.flatMap((part) => (part.type === "tool-call" ? part.callId : []));
}

/** Converts a value to a user message. Returns undefined if it is not one. */
export function toUserMessage(given: unknown): UserMessage | undefined {
  try {
    const message = assertMessage(given, 0);
    return message.role === "user" ? message : undefined;
  } catch {
    return undefined;
  }
}

export function assertMessage(given: unknown, index: number): Message {
  let value: unknown;
  try {
    value = withTextPart(sealedCopy(given));
  } catch (error) {
    throw refuse(index, `cannot be written as JSON: ${toPlainError(error).message}`);
  }
  if (!isRecord(value)) throw invalid(index, "not-an-object");
  const problem = edges.findMessageProblem?.(value, given) ?? findShapeProblem(value);
  if (problem !== undefined) throw refuse(index, problem);
  return seal(value as unknown as Message);
}

/** Returns a problem with a message. In a small bundle without the full checks, looks only at the fields that the loop itself reads. */
function findShapeProblem({ role, content, results }: UnknownRecord): MessageProblem | undefined {
  if (role === "user") return undefined;
  return Array.isArray(role === "assistant" ? content : role === "tool" ? results : undefined) ? undefined : "role";
}

/** Converts an assistant message whose content is a string. In the transcript, the string becomes a text part. */
function withTextPart(value: unknown): unknown {
  if (!isRecord(value) || value["role"] !== "assistant" || typeof value["content"] !== "string") return value;
  const text = value["content"];
  return { ...value, content: text === "" ? [] : [{ type: "text", text }] };
}

export function invalid(index: number, problem: MessageProblem): LoopError<"invalid-messages"> {
  return refuse(index, edges.describeMessage?.(problem) ?? problem);
}

function refuse(index: number, problem: string): LoopError<"invalid-messages"> {
  return new LoopError("invalid-messages", { index, problem });
}
