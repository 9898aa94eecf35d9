// Builds a UI message's chunks: its steps, its text, and its tool parts with their approvals, questions and nested runs.

import type { LoopEvent, LoopEvents } from "../core/index.ts";
import type { WaitingCall } from "../core/kit.ts";
import type { EmittedPart } from "../core/types/loop-event.ts";
import type { NestedEvent } from "../web/page-mapper.ts";
import {
  type DiscardedText,
  type Entry,
  type Handlers,
  type NoteName,
  type PageCall,
  PageRun,
  type TextPart,
} from "../web/page-run.ts";
import { toCallPath, toFailureText, toPlain } from "../web/page-values.ts";
import { waitingCallsOf } from "../shared/wait-ids.ts";
import { NestedProgress } from "./nested-progress.ts";
import { toUserParts } from "./to-ui-messages.ts";
import type { UIMessageChunk, UIQuestion, UIVersion } from "./ui-message-chunk.ts";
import type { UIMessageOptions } from "./ui-message-options.ts";

type AskedUser = Omit<UIQuestion, "toolCallId" | "toolName">;

export class UIRun extends PageRun<UIMessageChunk> {
  readonly #version: UIVersion;
  readonly #onError: UIMessageOptions["onError"];
  readonly #nested = new Map<string, NestedProgress>();
  /** The calls that the page shows as approved by the user. */
  readonly #approved = new Set<PageCall>();
  /** The questions that are waiting in the run's process, by id. */
  readonly #live = new Map<string, AskedUser>();
  #steered = 0;
  protected readonly handlers: Handlers = {
    "tool-progress": ({ callId, name, data }) => {
      const nested = this.#nested.get(callId);
      nested?.setProgress(data);
      this.#showProgress(this.call(callId, { name }), nested?.hasRuns === true ? nested.toOutput() : data);
    },
    "approval-decided": (event) => this.#decide(event.callId, event),
    "question-asked": (event) => this.#ask(this.call(event.callId, { name: event.name }), event),
    "question-answered": (event) => this.#endQuestion(this.call(event.callId, { name: event.name }), event),
    steered: ({ message, iteration }) => {
      this.#steered += 1;
      const id = `steered-${iteration}-${this.#steered}`;
      const parts = toUserParts(message.content);
      this.endText();
      this.push(this.#version === 7 ? { type: "steering-message", id, parts } : { type: "data-steered", id, data: { parts } });
    },
  };

  constructor(out: Entry<UIMessageChunk>[], messageId: string, options: UIMessageOptions) {
    const { version = 6, sendReasoning = true, holdAttempts = true, onError } = options;
    const canRemove = version === 7;
    super(out, {
      prefix: `${messageId}:`,
      isOutermost: true,
      sendReasoning,
      holdAttempts: holdAttempts && !canRemove,
      canRemove,
      // Keeps a step open until the next one begins, because the outcomes of its calls belong to it.
      endsSteps: false,
    });
    this.#version = version;
    this.#onError = onError;
  }

  override add(event: LoopEvent): void {
    if (event.type === "run-start") this.#nested.clear();
    super.add(event);
  }

  protected stepChunk(type: "start" | "end"): UIMessageChunk {
    return { type: type === "start" ? "start-step" : "finish-step" };
  }

  protected textId(kind: TextPart["kind"], iteration: number, part: number): string {
    return `${kind}-${iteration}-${part}`;
  }

  protected textChunks(type: "start" | "end", { kind, id, toolCallId }: TextPart): readonly UIMessageChunk[] {
    if (type === "end") return [{ type: kind === "text" ? "text-end" : "reasoning-end", id }];
    if (kind === "reasoning") return [{ type: "reasoning-start", id }];
    return [{ type: "text-start", id, ...(toolCallId !== undefined && { providerMetadata: { turnwright: { toolCallId } } }) }];
  }

  protected textDelta({ kind, id }: TextPart, delta: string): UIMessageChunk {
    return { type: kind === "text" ? "text-delta" : "reasoning-delta", id, delta };
  }

  protected dataChunk(call: PageCall, { name, data, id }: Extract<EmittedPart, { readonly type: "data" }>): UIMessageChunk {
    return { type: `data-${name}`, ...(id !== undefined && { id: `${call.id}:${id}` }), data };
  }

  note(name: NoteName, data: object): void {
    this.push({ type: `data-${name}`, transient: true, data } as UIMessageChunk);
  }

  /** Marks discarded text, which versions 5 and 6 of the AI SDK cannot remove from the page. */
  protected discardedChunk({ iteration, mark, isShown }: DiscardedText): UIMessageChunk | undefined {
    if (this.#version === 7) return { type: "reset-step" };
    return isShown ? { type: "data-attempt-discarded", id: `discarded-${iteration}-${mark}`, data: { iteration } } : undefined;
  }

  protected callStart({ id: toolCallId, name: toolName }: PageCall): UIMessageChunk {
    return { type: "tool-input-start", toolCallId, toolName };
  }

  protected callDelta({ id: toolCallId }: PageCall, inputTextDelta: string): UIMessageChunk {
    return { type: "tool-input-delta", toolCallId, inputTextDelta };
  }

  /**
   * Returns the chunk with the complete arguments, unless the call's part began in an earlier stream. The chunk would then create a second
   * part on the page.
   */
  protected callReady(call: PageCall, isNew: boolean): readonly UIMessageChunk[] {
    return isNew || call.stream === this.stream ? [toInput(call)] : [];
  }

  /** Sends the arguments again. If `isForPage` is true, `useChat` passes the call to the page's `onToolCall`. */
  #showAgain(call: PageCall, isForPage: boolean): void {
    if (call.state !== "ready" || call.stream !== this.stream) return;
    this.push(isForPage ? toInput(call) : { ...toInput(call), providerExecuted: true });
  }

  #showProgress(call: PageCall, given: unknown, isPreliminary = true): void {
    if (call.state === "ended") return;
    this.complete(call);
    const output = { type: "tool-output-available", toolCallId: call.id, output: toPlain(given) } as const;
    this.push({ ...output, providerExecuted: true, ...(isPreliminary && { preliminary: true }) });
  }

  protected callEnd(call: PageCall, { name, outcome, result }: Parameters<PageRun<UIMessageChunk>["end"]>[1]): void {
    // Sends unreadable arguments only for outcomes that need them: a tool that started early may have completed before its arguments were
    // cut off.
    if (!call.isUnreadable || outcome === "completed" || outcome === "denied") this.complete(call);
    const toolCallId = call.id;
    if (outcome === "completed")
      return this.push({ type: "tool-output-available", toolCallId, output: result, providerExecuted: true });
    if (outcome === "denied" && this.#version !== 5) return this.push({ type: "tool-output-denied", toolCallId });
    const errorText = toFailureText({ kind: "tool", toolName: name, outcome, result }, this.#onError);
    const failed = { toolCallId, errorText, providerExecuted: true } as const;
    const isPartial = call.state === "new" || (call.state === "open" && call.stream === this.stream);
    // Does not send `tool-input-error`, which would create a second part on the web page if the first was streamed.
    if (!isPartial) return this.push({ type: "tool-output-error", ...failed });
    if (call.state === "new") this.begin(call, "ended");
    this.endText();
    this.push({ type: "tool-input-error", toolName: name, input: call.args, ...failed });
  }

  protected closeCall(call: PageCall, isOver: boolean): void {
    if (isOver && !(call.state === "new" && call.isNested)) this.endUnrun(call);
  }

  /** True if a nested run of the call is suspended. */
  isSuspended(callId: string): boolean {
    return this.#nested.get(callId)?.isSuspended === true;
  }

  forgetNested(callId: string): void {
    this.#nested.delete(callId);
  }

  /** Adds an event of a nested run, which the page shows as the preliminary output of its call. */
  addNested(event: NestedEvent, isSent: boolean): void {
    const [outer = ""] = event.path;
    const call = this.calls.get(outer);
    if (call === undefined || call.state === "ended" || this.isDiscarded(outer)) return;
    const progress = this.#nested.get(outer) ?? new NestedProgress();
    this.#nested.set(outer, progress);
    const isWorth = progress.note(event);
    this.audience = event.replayed === true ? "recalled" : "all";
    if ("callId" in event && !isSent) this.#addNestedCall(event, `${event.path.join("/")}/${event.callId}`);
    if (isWorth && event.replayed !== true) this.#showProgress(call, progress.toOutput());
  }

  /** Adds an event of a nested run's call. The call has its own part on the page only if it is waiting for the page. */
  #addNestedCall(event: Extract<LoopEvent, { readonly callId: string }>, key: string): void {
    const call = this.calls.get(key);
    if (event.type === "tool-args-end") this.call(key, event);
    else if (event.type === "question-asked") this.#ask(this.call(key, event), event);
    else if (event.type === "question-answered") this.#endQuestion(this.call(key, event), event);
    else if (event.type === "approval-decided" && call !== undefined && event.question !== undefined) {
      this.complete(call);
      this.#decide(key, event);
    } else if (event.type === "tool-end" && call !== undefined) {
      if (call.state === "new") this.calls.delete(key);
      else this.end(call, event);
    }
  }

  #ask(call: PageCall, { id: questionId, question, fromPage }: LoopEvents["question-asked"]): void {
    this.#live.set(questionId, { ...question, questionId, isLive: true, fromPage: fromPage === true });
    this.complete(call);
    this.#showLive(call, questionId);
  }

  #endQuestion(call: PageCall, { id, answer }: LoopEvents["question-answered"]): void {
    this.#showLive(call, id, answer);
    this.#live.delete(id);
  }

  #showLive(call: PageCall, id: string, answer?: UIQuestion["answer"]): void {
    const question = this.#live.get(id);
    if (question !== undefined) this.#writeQuestion(call, answer === undefined ? question : { ...question, answer });
  }

  #writeQuestion({ id: toolCallId, name: toolName }: PageCall, question: AskedUser): void {
    this.push({ type: "data-question", id: question.questionId, data: { ...question, toolCallId, toolName } });
  }

  #decide(key: string, event: LoopEvents["approval-decided"]): void {
    const { args, decision, question, callId } = event;
    const call = this.calls.get(key);
    if (call === undefined || call.state === "new") return;
    if (args !== undefined) {
      call.args = args;
      this.#showAgain(call, false);
    }
    const hasWaited = question !== undefined;
    if (hasWaited && isApproval(decision)) this.#approved.add(call);
    else this.#approved.delete(call);
    if (hasWaited || decision === "deny") this.#showDecision(call, key.slice(0, key.length - callId.length), event);
  }

  #showDecision(
    call: PageCall,
    path: string,
    { callId, name, question, decision, reason }: LoopEvents["approval-decided"],
  ): void {
    const id = path + (question ?? callId);
    const approvalId = this.toId(id);
    if (this.#version === 5 && question !== undefined) {
      const data = { approvalId, toolCallId: call.id, toolName: name, input: call.args, decision };
      this.push({ type: "data-approval", id: approvalId, data });
    }
    if (this.#version !== 7 || decision === "failed") return;
    this.#askApproval(call, id, question === undefined);
    const approved = isApproval(decision);
    this.push({ type: "tool-approval-response", approvalId, approved, ...(reason !== undefined && { reason }) });
  }

  #askApproval({ id: toolCallId, name: toolName, args: input }: PageCall, question: string, isAutomatic = false): void {
    const approvalId = this.toId(question);
    if (this.#version !== 5)
      return this.push({ type: "tool-approval-request", approvalId, toolCallId, ...(isAutomatic && { isAutomatic }) });
    this.endText();
    this.push({ type: "data-approval", id: approvalId, data: { approvalId, toolCallId, toolName, input } });
  }

  protected showWaits({ reason }: LoopEvents["run-end"]): void {
    // Replaces preliminary outputs with final ones, because a web page that uses `sendAutomaticallyWhen` would otherwise send no decisions.
    for (const [callId, progress] of this.#nested) {
      const call = this.calls.get(callId);
      if (call !== undefined) this.#showProgress(call, progress.toOutput(), false);
    }
    for (const waiting of waitingCallsOf(reason)) this.#showWait(waiting);
  }

  #showWait(waiting: WaitingCall): void {
    const { question, id, waitsFor, name } = waiting;
    const call = name === "" ? undefined : this.call(toCallPath(waiting), waiting);
    if (call !== undefined) this.complete(call);
    if (waitsFor === "answer") this.#writeWait(waiting, call);
    if (call === undefined) return;
    if (waitsFor === "approval") return this.#askApproval(call, id);
    const fromPage = waiting.fromPage === true;
    const isPlain = waitsFor === "result" && question === undefined;
    // Resets a part that still shows an approval, because `useChat` would otherwise send the approval again.
    if (this.#approved.has(call) && this.#version !== 5) this.#showAgain(call, fromPage && isPlain);
    if (question !== undefined) this.#writeQuestion(call, { ...question, questionId: this.toId(id), isLive: false, fromPage });
  }

  /** Shows that something is waiting for an answer. The facts are sent to the page only if it may answer. */
  #writeWait({ id, what = "", facts = null, schema, fromPage }: WaitingCall, call: PageCall | undefined): void {
    if (fromPage !== true) return;
    const waitId = this.toId(id);
    const about = call === undefined ? {} : { toolCallId: call.id, toolName: call.name };
    this.push({ type: "data-wait", id: waitId, data: { waitId, what, facts, ...(schema && { schema }), ...about } });
  }
}

function toInput({
  id: toolCallId,
  name: toolName,
  args: input,
}: PageCall): Extract<UIMessageChunk, { readonly type: "tool-input-available" }> {
  return { type: "tool-input-available", toolCallId, toolName, input };
}

function isApproval(decision: LoopEvents["approval-decided"]["decision"]): boolean {
  return decision === "approve" || decision === "modify";
}
