// Checks a conversation before it is sent. Each call must have exactly one result, directly after its assistant message.
// Violations are repaired if the caller sets `repair`, and otherwise rejected with the index of the message.

import type { AssistantMessage, Message, ToolCallPart, ToolMessage, ToolResultPart, UserMessage } from "../core/types/message.ts";
import { LoopError } from "./errors/loop-error.ts";
import { renderOutcome } from "./to-outcome.ts";
import { edges, type MessageProblem } from "./edges.ts";
import { isRecord, type UnknownRecord } from "./guards.ts";
import { toPlainError } from "./plain-error.ts";
import { seal, sealedCopy } from "./transcript.ts";

export interface CheckedMessages {
  readonly messages: readonly Message[];
  readonly heldIds: ReadonlySet<string>;
}

export function checkMessages(given: readonly unknown[], repair: boolean): CheckedMessages {
  const checker = new Checker(repair);
  for (const [index, value] of given.entries()) checker.add(assertMessage(value, index), index);
  checker.close(given.length - 1);
  if (checker.messages.length === 0) throw invalid(0, "nothing-to-send");
  return checker;
}

class Checker implements CheckedMessages {
  readonly messages: Message[] = [];
  readonly heldIds: Set<string> = new Set();
  readonly #repair: boolean;
  /** The calls of the newest assistant message, by id. */
  #calls = new Map<string, ToolCallPart>();
  #results = new Map<string, ToolResultPart>();
  /** The message that has all results, and nothing else. */
  #whole: ToolMessage | undefined;

  constructor(repair: boolean) {
    this.#repair = repair;
  }

  add(message: Message, index: number): void {
    if (message.role === "tool") {
      this.#addResults(message, index);
      return;
    }
    this.close(index - 1);
    if (message.role === "assistant") this.#open(message, index);
    this.messages.push(message);
  }

  #open({ content }: AssistantMessage, index: number): void {
    for (const part of content) {
      if (part.type !== "tool-call") continue;
      if (this.heldIds.has(part.callId)) throw invalid(index, "reused-call-id");
      this.heldIds.add(part.callId);
      this.#calls.set(part.callId, part);
    }
  }

  /** Consecutive tool messages are joined, because other libraries use one tool message for each result. */
  #addResults(message: ToolMessage, index: number): void {
    const isFirst = this.#results.size === 0;
    for (const result of message.results) {
      const isKnown = this.#calls.has(result.callId) && !this.#results.has(result.callId);
      if (isKnown) this.#results.set(result.callId, result);
      else if (!this.#repair) throw invalid(index, "unknown-result");
    }
    const { size } = this.#calls;
    this.#whole = isFirst && this.#results.size === size && message.results.length === size ? message : undefined;
    if (this.#results.size < size && !this.#repair) throw invalid(index, "missing-result");
  }

  /** Adds the results of the newest assistant message. */
  close(index: number): void {
    if (this.#calls.size === 0) return;
    if (this.#results.size < this.#calls.size && !this.#repair) throw invalid(index, "missing-results");
    const results = [...this.#calls.values()].map((call) => this.#results.get(call.callId) ?? toNotRun(call));
    this.messages.push(this.#whole ?? { role: "tool", results });
    this.#calls = new Map();
    this.#results = new Map();
    this.#whole = undefined;
  }
}

function toNotRun({ callId, name, args }: ToolCallPart): ToolResultPart {
  const call = { callId, name, args };
  return { callId, name, outcome: "not-run", result: renderOutcome({ call, durationMs: 0, kind: "not-run" }) };
}

/** Returns undefined for a value that is not a user message. */
export function toUserMessage(given: unknown): UserMessage | undefined {
  try {
    const message = assertMessage(given, 0);
    return message.role === "user" ? message : undefined;
  } catch {
    return undefined;
  }
}

function assertMessage(given: unknown, index: number): Message {
  const value = withTextPart(copy(given, index));
  if (!isRecord(value)) throw invalid(index, "not-an-object");
  const problem = edges.findMessageProblem?.(value, given) ?? findProblem(value);
  if (problem !== undefined) throw refuse(index, problem);
  return seal(value as unknown as Message);
}

/** Without the edge, only what the loop itself reads is checked. */
function findProblem({ role, content, results }: UnknownRecord): MessageProblem | undefined {
  if (role === "user") return undefined;
  return Array.isArray(role === "assistant" ? content : role === "tool" ? results : undefined) ? undefined : "role";
}

/** Accepts a string as the content of an assistant message, as it is for users. The transcript has a text part instead. */
function withTextPart(value: unknown): unknown {
  if (!isRecord(value) || value["role"] !== "assistant" || typeof value["content"] !== "string") return value;
  const text = value["content"];
  return { ...value, content: text === "" ? [] : [{ type: "text", text }] };
}

function copy(value: unknown, index: number): unknown {
  try {
    return sealedCopy(value);
  } catch (error) {
    throw refuse(index, `cannot be written as JSON: ${toPlainError(error).message}`);
  }
}

function invalid(index: number, problem: MessageProblem): LoopError<"invalid-messages"> {
  return refuse(index, edges.describeMessage?.(problem) ?? problem);
}

function refuse(index: number, problem: string): LoopError<"invalid-messages"> {
  return new LoopError("invalid-messages", { index, problem });
}
