import type { LoopEvents, WaitingCall } from "../core/entry-kit.ts";
import { toCallPath } from "../core/web-kit.ts";
import type { MessageWriter } from "./message-writer.ts";
import type { ToolPart, ToolParts } from "./tool-parts.ts";
import type { UIQuestion, UIVersion } from "./ui-message-chunk.ts";

type Decided = LoopEvents["approval-decided"];

export interface ApprovalTargets {
  readonly writer: MessageWriter;
  readonly tools: ToolParts;
  readonly version: UIVersion;
}

type AskedUser = Omit<UIQuestion, "toolCallId" | "toolName">;

export class ApprovalParts {
  readonly #writer: MessageWriter;
  readonly #tools: ToolParts;
  readonly #version: UIVersion;
  /** The questions that wait in the process of the run, by id. */
  readonly #live = new Map<string, AskedUser>();

  constructor({ writer, tools, version }: ApprovalTargets) {
    this.#writer = writer;
    this.#tools = tools;
    this.#version = version;
  }

  /** Shows a waiting call on the page. If the call waits for a decision, requests this decision. */
  request(call: WaitingCall): void {
    const part = this.#tools.add(toCallPath(call), call);
    this.#tools.show(part, call.name);
    if (call.waitsFor !== "result") this.#ask(part, call.id);
    else if (call.question !== undefined) {
      const { question, id, fromPage } = call;
      this.#writeQuestion(part, { ...question, questionId: this.#tools.toId(id), isLive: false, fromPage: fromPage === true });
    }
    // The part still shows an approval. Without a reset, `useChat` would send this approval again.
    else if (part.isApproved && this.#version !== 5) this.#tools.showAgain(part, call.fromPage === true);
  }

  #writeQuestion({ id: toolCallId, name: toolName }: ToolPart, question: AskedUser): void {
    const data = { ...question, toolCallId, toolName };
    this.#writer.writeBeside({ type: "data-question", id: question.questionId, data });
  }

  /** Shows a question that waits in the process of the run. */
  askLive(part: ToolPart, { id: questionId, question, fromPage }: LoopEvents["question-asked"]): void {
    this.#live.set(questionId, { ...question, questionId, isLive: true, fromPage: fromPage === true });
    this.#tools.show(part);
    this.#showLive(part, questionId);
  }

  endLive(part: ToolPart, { id, answer }: LoopEvents["question-answered"]): void {
    this.#showLive(part, id, answer);
    this.#live.delete(id);
  }

  #showLive(part: ToolPart, id: string, answer?: UIQuestion["answer"]): void {
    const question = this.#live.get(id);
    if (question !== undefined) this.#writeQuestion(part, answer === undefined ? question : { ...question, answer });
  }

  /** Shows a decision about a tool call of the outermost run. */
  decide(key: string, decided: Decided): void {
    const part = this.#tools.find(key);
    if (part !== undefined && part.state !== "new") this.#show(part, key, decided);
  }

  /**
   * Shows a decision about a tool call of a nested run. The page has a part for a call of a nested run only if this call has
   * waited for the page.
   */
  decideNested(key: string, decided: Decided): void {
    const part = this.#tools.find(key);
    if (part === undefined || decided.question === undefined) return;
    this.#tools.show(part, decided.name);
    this.#show(part, key, decided);
  }

  #show(part: ToolPart, key: string, { args, decision, reason, name, callId, question }: Decided): void {
    if (args !== undefined) this.#tools.edit(part, args);
    const hasWaited = question !== undefined;
    part.isApproved = hasWaited && isApproval(decision);
    if (!hasWaited && decision !== "deny") return;
    const id = key.slice(0, key.length - callId.length) + (question ?? callId);
    const approvalId = this.#tools.toId(id);
    if (this.#version === 5 && hasWaited) {
      const data = { approvalId, toolCallId: part.id, toolName: name, input: part.args, decision };
      this.#writer.writeBeside({ type: "data-approval", id: approvalId, data });
    }
    if (this.#version !== 7 || decision === "failed") return;
    this.#ask(part, id, hasWaited ? {} : { isAutomatic: true });
    const approved = isApproval(decision);
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

function isApproval(decision: Decided["decision"]): boolean {
  return decision === "approve" || decision === "modify";
}
