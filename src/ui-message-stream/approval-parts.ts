// Shows calls that wait for the page: for a decision, or for a result.

import type { LoopEvents, WaitingCall } from "../core/entry-kit.ts";
import type { MessageWriter } from "./message-writer.ts";
import type { ToolPart, ToolParts } from "./tool-parts.ts";
import type { UIVersion } from "./ui-message-chunk.ts";

type Decided = LoopEvents["approval-decided"];

export interface ApprovalTargets {
  readonly writer: MessageWriter;
  readonly tools: ToolParts;
  readonly version: UIVersion;
}

export class ApprovalParts {
  readonly #writer: MessageWriter;
  readonly #tools: ToolParts;
  readonly #version: UIVersion;
  /** Calls for which `policies.approve` was called in this execution. Decisions about all other calls come from a person. */
  readonly #asked = new Set<string>();
  /** For each call that has waited, the `id` that identified it in `pendingCalls`. */
  readonly #waiting = new Map<string, string>();

  constructor({ writer, tools, version }: ApprovalTargets) {
    this.#writer = writer;
    this.#tools = tools;
    this.#version = version;
  }

  noteAsked(key: string): void {
    this.#asked.add(key);
  }

  /** Remembers the calls that waited when the run was suspended. Called if the resumed run continues in the same stream. */
  expect(calls: readonly WaitingCall[]): void {
    this.#asked.clear();
    for (const call of calls) this.#waiting.set(toKey(call), call.id);
  }

  /** Shows a waiting call. If the call waits for a decision, also requests the decision from the page. */
  request(call: WaitingCall): void {
    const part = this.#tools.add(toKey(call), call);
    this.#tools.show(part, call.name);
    if (call.waitsFor !== "result") this.#ask(part, call.id);
  }

  /** Shows the decision about a call of the outermost run. */
  decide(key: string, decided: Decided): void {
    const part = this.#tools.find(key);
    if (part !== undefined && part.state !== "new") this.#show(part, key, decided);
    this.#settle(key);
  }

  /** Shows the decision about a call of a nested run, if the call has waited. Other nested calls have no part on the page. */
  decideNested(key: string, decided: Decided): void {
    const part = this.#tools.find(key);
    if (part !== undefined && this.#hasWaited(key, decided)) {
      this.#tools.show(part, decided.name);
      this.#show(part, key, decided);
    }
    this.#settle(key);
  }

  #settle(key: string): void {
    this.#asked.delete(key);
    this.#waiting.delete(key);
  }

  #hasWaited(key: string, { replayed }: Pick<Decided, "replayed">): boolean {
    return this.#waiting.has(key) || (replayed !== true && !this.#asked.has(key));
  }

  #show(part: ToolPart, key: string, decided: Decided): void {
    if (decided.args !== undefined) this.#tools.edit(part, decided.args);
    const { decision, reason, name, replayed } = decided;
    const hasWaited = this.#hasWaited(key, { replayed });
    if (!hasWaited && decision !== "deny") return;
    const approvalId = this.#tools.toId(this.#waiting.get(key) ?? key);
    if (this.#version === 5 && hasWaited) {
      const data = { approvalId, toolCallId: part.id, toolName: name, input: part.args, decision };
      this.#writer.writeBeside({ type: "data-approval", id: approvalId, data });
    }
    if (this.#version !== 7 || decision === "failed") return;
    this.#ask(part, this.#waiting.get(key) ?? key, hasWaited ? {} : { isAutomatic: true });
    const approved = decision !== "deny";
    this.#writer.writeBeside({ type: "tool-approval-response", approvalId, approved, ...(reason !== undefined && { reason }) });
  }

  #ask({ id: toolCallId, name, args }: ToolPart, question: string, more: { readonly isAutomatic?: true } = {}): void {
    const approvalId = this.#tools.toId(question);
    if (this.#version !== 5) this.#writer.writeBeside({ type: "tool-approval-request", approvalId, toolCallId, ...more });
    else {
      const data = { approvalId, toolCallId, toolName: name, input: args };
      this.#writer.write({ type: "data-approval", id: approvalId, data });
    }
  }
}

/** Returns the key of a call: its `id` without a suffix such as `#2`, which numbers the questions about one call. */
function toKey({ id, callId }: WaitingCall): string {
  const bare = id.replace(/#\d+$/, "");
  return bare === callId || bare.endsWith(`/${callId}`) ? bare : id;
}
