// Builds the AG-UI events of one run. Each nested run has its own `AGUIRun`.

import type { EmittedPart } from "../core/types/loop-event.ts";
import {
  type Audience,
  type DiscardedText,
  type Entry,
  type Handlers,
  type NoteName,
  type PageCall,
  PageRun,
  type TextPart,
} from "../web/page-run.ts";
import { toFailureText, toPlain } from "../web/page-values.ts";
import type { AGUIAttribution, AGUICustomName, AGUIEvent, AGUIPartEvent } from "./ag-ui-event.ts";
import type { AGUIOptions } from "./ag-ui-options.ts";
import { toResultMessageId } from "./page-ids.ts";
import { toContent } from "./to-ag-ui-messages.ts";

export interface RunPlace {
  /** The prefix of every id that this run uses on the web page. */
  readonly prefix: string;
  readonly tag: AGUIAttribution;
  readonly options: AGUIOptions;
  readonly out: Entry<AGUIEvent>[];
}

export class AGUIRun extends PageRun<AGUIEvent> {
  readonly #tag: AGUIAttribution;
  readonly #onError: AGUIOptions["onError"];
  protected readonly handlers: Handlers = {
    "tool-progress": ({ callId, data, preliminary }) =>
      this.#custom("tool-progress", { toolCallId: this.toId(callId), data, ...(preliminary && { preliminary }) }),
    // Sends edited arguments with the decision, because AG-UI cannot change a call's arguments once they are sent.
    "approval-decided": ({ callId, decision, reason, question, args }) => {
      const interruptId = question === undefined ? undefined : this.toId(question);
      this.#custom("approval-decided", { toolCallId: this.toId(callId), decision, interruptId, args, reason });
    },
    "question-asked": ({ callId, id, question }) =>
      this.#custom("question-asked", { toolCallId: this.toId(callId), id, ...question }),
    "question-answered": ({ id, answer }) => this.#custom("question-answered", { id, answer }),
    steered: ({ message: { content } }) => this.#custom("steered", { content }),
  };

  constructor({ prefix, tag, options, out }: RunPlace) {
    const { sendReasoning = true, holdAttempts = true, onError } = options;
    const isOutermost = tag.subagentRunId === undefined;
    super(out, { prefix, isOutermost, sendReasoning, holdAttempts, canRemove: false, endsSteps: true });
    this.#tag = tag;
    this.#onError = onError;
  }

  nameOf(callId: string): string | undefined {
    return this.calls.get(callId)?.name;
  }

  protected override push(event: AGUIEvent, audience?: Audience): void {
    super.push({ ...event, ...this.#tag }, audience);
  }

  #custom(name: AGUICustomName, value: unknown): void {
    this.push({ type: "CUSTOM", name, value: toPlain(value) });
  }

  note(name: NoteName, data: object): void {
    this.#custom(name, data);
  }

  protected stepChunk(type: "start" | "end", iteration: number): AGUIEvent {
    return { type: type === "start" ? "STEP_STARTED" : "STEP_FINISHED", stepName: `iteration-${iteration}` };
  }

  protected textId(kind: TextPart["kind"], iteration: number, part: number): string {
    return this.toId(`${kind === "text" ? "" : "r"}${iteration}-${part}`);
  }

  protected textChunks(type: "start" | "end", { kind, id: messageId }: TextPart): readonly AGUIPartEvent[] {
    if (kind === "text")
      return [
        type === "start" ? { type: "TEXT_MESSAGE_START", messageId, role: "assistant" } : { type: "TEXT_MESSAGE_END", messageId },
      ];
    if (type === "end")
      return [
        { type: "REASONING_MESSAGE_END", messageId },
        { type: "REASONING_END", messageId },
      ];
    return [
      { type: "REASONING_START", messageId },
      { type: "REASONING_MESSAGE_START", messageId, role: "reasoning" },
    ];
  }

  protected textDelta({ kind, id: messageId }: TextPart, delta: string): AGUIEvent {
    return { type: kind === "text" ? "TEXT_MESSAGE_CONTENT" : "REASONING_MESSAGE_CONTENT", messageId, delta };
  }

  protected dataChunk(call: PageCall, { name, data, id }: Extract<EmittedPart, { readonly type: "data" }>): AGUIEvent {
    const value = toPlain({ toolCallId: call.id, name, data, ...(id !== undefined && { id }) });
    return { type: "CUSTOM", name: "tool-emit", value };
  }

  protected callStart({ id: toolCallId, name: toolCallName }: PageCall): AGUIPartEvent {
    return { type: "TOOL_CALL_START", toolCallId, toolCallName, parentMessageId: this.parentId() };
  }

  protected callDelta({ id: toolCallId }: PageCall, delta: string): AGUIEvent {
    return { type: "TOOL_CALL_ARGS", toolCallId, delta };
  }

  protected callReady(call: PageCall, isNew: boolean): readonly AGUIEvent[] {
    const end = { type: "TOOL_CALL_END", toolCallId: call.id } as const;
    return isNew ? [this.callStart(call), this.callDelta(call, JSON.stringify(call.args)), end] : [end];
  }

  protected callEnd(call: PageCall, { name: toolName, outcome, result }: Parameters<PageRun<AGUIEvent>["end"]>[1]): void {
    this.complete(call);
    const failure = { kind: "tool", toolName, outcome, result } as const;
    const content = outcome === "completed" ? toContent(result) : toFailureText(failure, this.#onError);
    const facts = { messageId: toResultMessageId(call.id), toolCallId: call.id, role: "tool", content } as const;
    this.push({ type: "TOOL_CALL_RESULT", ...facts, metadata: { outcome } });
  }

  protected closeCall(call: PageCall, isOver: boolean): void {
    this.complete(call);
    if (isOver) this.endUnrun(call);
  }

  /** Returns an event that marks text as discarded, because AG-UI cannot remove text from a page. */
  protected discardedChunk({ said }: DiscardedText): AGUIEvent | undefined {
    return said === undefined ? undefined : { type: "CUSTOM", name: "attempt-discarded", value: { messageId: said } };
  }

  /** Does nothing, because the event that ends the outermost run lists the interrupts. */
  protected showWaits(): void {}
}
