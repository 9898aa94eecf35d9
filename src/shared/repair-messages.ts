import type { Message, ToolCallPart, ToolMessage, ToolResultPart } from "../core/types/message.ts";
import { assertMessage, checkMessages, invalid } from "./transcript.ts";
import { renderOutcome } from "./to-outcome.ts";

/**
 * Repairs a conversation's messages so that a run accepts them: each call without a result gets the result "not-run", results without
 * a call are removed, and the results of one assistant message are joined. Other messages are not changed.
 *
 * Throws LoopError "invalid-messages" with the index of a message that cannot be repaired, or if no message is left.
 *
 * @example await runToolLoop({ provider, tools, messages: repairMessages(stored) });
 */
export function repairMessages(messages: readonly Message[]): readonly Message[] {
  const repair = new Repair();
  for (const [index, message] of messages.entries()) repair.add(assertMessage(message, index), index);
  repair.close();
  return checkMessages(repair.messages).messages;
}

class Repair {
  readonly messages: Message[] = [];
  readonly #ids = new Set<string>();
  /** The newest assistant message's calls, by id. */
  #calls = new Map<string, ToolCallPart>();
  #results = new Map<string, ToolResultPart>();
  /** The original message, if it contains exactly the results of all calls. */
  #whole: ToolMessage | undefined;

  add(message: Message, index: number): void {
    if (message.role === "tool") return this.#addResults(message);
    this.close();
    this.messages.push(message);
    for (const part of message.role === "assistant" ? message.content : []) {
      if (part.type !== "tool-call") continue;
      if (this.#ids.has(part.callId)) throw invalid(index, "reused-call-id");
      this.#ids.add(part.callId);
      this.#calls.set(part.callId, part);
    }
  }

  /** Joins consecutive tool messages, because other libraries use a separate tool message for each result. */
  #addResults(message: ToolMessage): void {
    const isFirst = this.#results.size === 0;
    for (const result of message.results)
      if (this.#calls.has(result.callId) && !this.#results.has(result.callId)) this.#results.set(result.callId, result);
    const { size } = this.#calls;
    this.#whole = isFirst && this.#results.size === size && message.results.length === size ? message : undefined;
  }

  /** Adds the results for the newest assistant message. */
  close(): void {
    if (this.#calls.size === 0) return;
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
