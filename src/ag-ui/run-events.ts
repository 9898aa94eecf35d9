import type { LoopEvent, LoopEvents } from "../core/index.ts";
import type { LoopEventType } from "../core/kit.ts";
import { mayBeDiscarded, toFailureText, toPlain } from "../web/page-values.ts";
import type { AGUICustomName, AGUIPartEvent } from "./ag-ui-event.ts";
import { EmittedParts, type Entry, Outbox, type RunPlace } from "./outbox.ts";
import { toResultMessageId } from "./page-ids.ts";
import { toContent } from "./to-ag-ui-messages.ts";

interface OpenPart {
  readonly kind: "text" | "reasoning";
  readonly id: string;
  readonly audience: Entry["audience"];
}

interface TextState {
  readonly open: OpenPart | undefined;
  readonly parts: number;
  readonly parent: string | undefined;
  readonly said: string | undefined;
}

interface Call {
  readonly id: string;
  readonly name: string;
  readonly iteration: number;
  readonly audience: Entry["audience"];
  /** The value of `Outbox.holding` when the start of the tool call was held back. Undefined if the start was sent immediately. */
  readonly holding: number | undefined;
  isComplete: boolean;
  hasEnded: boolean;
}

type Handlers = { readonly [Type in LoopEventType]?: (event: LoopEvents[Type]) => void };

const noText: TextState = { open: undefined, parts: 0, parent: undefined, said: undefined };

/** Converts the events of one run to AG-UI events. Each nested run has a separate `RunEvents`. */
export class RunEvents {
  readonly #place: RunPlace;
  readonly #outbox: Outbox;
  readonly #emitted = new EmittedParts((event) => this.#push(event));
  #iteration = -1;
  #step: { readonly name: string; readonly audience: Entry["audience"] } | undefined;
  #text = noText;
  /** The value of `#text` before the held-back attempt. `#discard` restores this value. */
  #before = noText;
  /** True if the events of the current iteration are held back because the iteration is replayed. */
  #isRecalled = false;
  readonly #calls = new Map<string, Call>();
  /** The ids of tool calls from discarded attempts. Later events of these calls are ignored. */
  readonly #discarded = new Set<string>();
  #audience: Entry["audience"] = "all";
  readonly #handlers: Handlers = {
    "iteration-start": (event) => this.#beginStep(event),
    "iteration-end": (event) => {
      if (!mayBeDiscarded(event)) this.#outbox.release();
      this.#endStep();
    },
    "text-delta": (event) => this.#addText("text", event),
    "reasoning-delta": (event) => {
      if (this.#place.options.sendReasoning !== false) this.#addText("reasoning", event);
    },
    "tool-args-delta": (event) => {
      const { id } = this.#show(event);
      this.#push({ type: "TOOL_CALL_ARGS", toolCallId: id, delta: event.text });
    },
    "tool-args-end": (event) => this.#complete(event),
    "tool-start": (event) => {
      this.#outbox.release();
      this.#complete(event);
    },
    "tool-progress": ({ callId, data, preliminary }) =>
      this.custom("tool-progress", { toolCallId: this.toId(callId), data, ...(preliminary && { preliminary }) }),
    "tool-emit": ({ callId, part }) => this.#emitted.add(this.toId(callId), part),
    // A call that was refused has no `tool-start`.
    "tool-end": (event) => {
      this.#outbox.release();
      this.#end(event);
    },
    "approval-asked": () => this.#outbox.release(),
    "approval-decided": ({ callId, decision, reason, question, args }) => {
      this.#outbox.release();
      const toolCallId = this.toId(callId);
      const more = {
        ...(question !== undefined && { interruptId: this.toId(question) }),
        // AG-UI cannot replace the arguments of a call, so the page gets the new ones here.
        ...(args !== undefined && { args }),
        ...(reason !== undefined && { reason }),
      };
      this.custom("approval-decided", { toolCallId, decision, ...more });
    },
    "question-asked": (event) =>
      this.custom("question-asked", { toolCallId: this.toId(event.callId), id: event.id, ...event.question }),
    "question-answered": (event) => this.custom("question-answered", { id: event.id, answer: event.answer }),
    "attempt-discarded": ({ replayed }) => this.#discard(replayed === true),
    // "unmarked-restart" is for the developer, not for the page.
    notice: ({ kind }) => {
      if (kind !== "unmarked-restart") this.custom("notice", { kind });
    },
    masked: ({ calls, tokensBefore, tokensAfter }) =>
      this.custom("masked", { toolCallIds: calls.map((callId) => this.toId(callId)), tokensBefore, tokensAfter }),
    "compaction-start": ({ cause }) => this.custom("compaction", { state: "started", cause }),
    "compaction-end": ({ outcome, tokensBefore, tokensAfter }) =>
      this.custom("compaction", { state: outcome, tokensBefore, tokensAfter }),
    steered: ({ message }) => this.custom("steered", { content: message.content }),
  };

  constructor(place: RunPlace) {
    this.#place = place;
    this.#outbox = new Outbox(place.out);
  }

  toId(callId: string): string {
    return this.#place.prefix + callId;
  }

  nameOf(callId: string): string | undefined {
    return this.#calls.get(callId)?.name;
  }

  isDiscarded(callId: string): boolean {
    return this.#discarded.has(callId);
  }

  add(event: LoopEvent): void {
    if ("callId" in event && this.#discarded.has(event.callId)) return;
    this.#audience = event.replayed === true ? "recalled" : "all";
    this.#handle(event);
  }

  #handle<Type extends LoopEventType>(event: { readonly type: Type } & LoopEvents[Type]): void {
    this.#handlers[event.type]?.(event);
  }

  custom(name: AGUICustomName, value: unknown, audience: Entry["audience"] = this.#audience): void {
    this.#push({ type: "CUSTOM", name, value: toPlain(value) }, audience);
  }

  /** Closes open parts. Ends calls without an outcome as `not-run`, unless the run is suspended. */
  close(isSuspended: boolean): void {
    this.#audience = "all";
    this.#outbox.release();
    this.#emitted.endAll();
    this.#endStep();
    for (const [callId, { name, hasEnded, isComplete }] of this.#calls) {
      if (!isComplete) this.#complete({ callId, name });
      if (!isSuspended && !hasEnded) this.#end({ callId, name, outcome: "not-run", result: null });
    }
  }

  #push(event: AGUIPartEvent, audience: Entry["audience"] = this.#audience): void {
    this.#outbox.push({ ...event, ...this.#place.tag }, audience);
  }

  /** Begins an AG-UI step. The events of a replayed iteration are held back, because a recorded retry may discard them. */
  #beginStep({ iteration, continuation, replayed }: LoopEvents["iteration-start"]): void {
    if (continuation === 0 || !this.#isRecalled) this.#outbox.release();
    this.#endStep();
    const isSame = iteration === this.#iteration;
    this.#iteration = iteration;
    this.#text = { ...noText, parts: isSame ? this.#text.parts : 0 };
    if (continuation === 0) {
      // Only iterations of the outermost run can be discarded later, by `resume: "retry-last"`.
      this.#isRecalled = replayed === true && this.#place.tag.subagentRunId === undefined;
      if (this.#isRecalled) this.#outbox.hold();
    }
    this.#step = { name: `iteration-${iteration}`, audience: this.#audience };
    this.#push({ type: "STEP_STARTED", stepName: this.#step.name });
  }

  #endStep(): void {
    this.#endText();
    const step = this.#step;
    this.#step = undefined;
    if (step !== undefined) this.#push({ type: "STEP_FINISHED", stepName: step.name }, step.audience);
  }

  #addText(kind: OpenPart["kind"], { text, attempt, isFinal }: LoopEvents["text-delta"]): void {
    if (
      attempt !== undefined &&
      isFinal !== true &&
      this.#place.options.holdAttempts !== false &&
      this.#outbox.holding === undefined
    ) {
      this.#before = this.#text;
      this.#outbox.hold();
    }
    if (text === "") return;
    if (this.#text.open?.kind !== kind) this.#beginText(kind);
    const messageId = this.#text.open?.id ?? "";
    const type = kind === "text" ? "TEXT_MESSAGE_CONTENT" : "REASONING_MESSAGE_CONTENT";
    this.#push({ type, messageId, delta: text }, this.#text.open?.audience);
  }

  #beginText(kind: OpenPart["kind"]): void {
    this.#endText();
    const id = this.#nextId(kind === "text" ? "" : "r");
    const { parent = id, said = id } = this.#text;
    this.#text = { ...this.#text, open: { kind, id, audience: this.#audience }, ...(kind === "text" && { parent, said }) };
    if (kind === "text") return this.#push({ type: "TEXT_MESSAGE_START", messageId: id, role: "assistant" });
    this.#push({ type: "REASONING_START", messageId: id });
    this.#push({ type: "REASONING_MESSAGE_START", messageId: id, role: "reasoning" });
  }

  #nextId(mark: string): string {
    const { parts } = this.#text;
    this.#text = { ...this.#text, parts: parts + 1 };
    return `${this.#place.prefix}${mark}${this.#iteration}-${parts}`;
  }

  #endText(): void {
    const { open } = this.#text;
    if (open === undefined) return;
    this.#text = { ...this.#text, open: undefined };
    const { kind, id: messageId, audience } = open;
    if (kind === "text") return this.#push({ type: "TEXT_MESSAGE_END", messageId }, audience);
    this.#push({ type: "REASONING_MESSAGE_END", messageId }, audience);
    this.#push({ type: "REASONING_END", messageId }, audience);
  }

  #show({ callId, name }: { readonly callId: string; readonly name: string }): Call {
    const known = this.#calls.get(callId);
    if (known !== undefined) return known;
    this.#endText();
    const id = this.toId(callId);
    const parent = this.#text.parent ?? this.#nextId("");
    this.#text = { ...this.#text, parent };
    const call: Call = {
      id,
      name,
      iteration: this.#iteration,
      audience: this.#audience,
      holding: this.#outbox.holding,
      isComplete: false,
      hasEnded: false,
    };
    this.#calls.set(callId, call);
    this.#push({ type: "TOOL_CALL_START", toolCallId: id, toolCallName: name, parentMessageId: parent });
    return call;
  }

  /**
   * Ends the arguments of a tool call, unless they have already ended. Arguments that were not streamed are sent in one piece.
   */
  #complete(event: { readonly callId: string; readonly name: string; readonly args?: unknown }): void {
    const isNew = !this.#calls.has(event.callId);
    const call = this.#show(event);
    if (call.isComplete) return;
    call.isComplete = true;
    const { id: toolCallId, audience } = call;
    if (isNew) this.#push({ type: "TOOL_CALL_ARGS", toolCallId, delta: JSON.stringify(event.args ?? {}) }, audience);
    this.#push({ type: "TOOL_CALL_END", toolCallId }, audience);
  }

  #end(event: Pick<LoopEvents["tool-end"], "callId" | "name" | "outcome" | "result">): void {
    this.#complete(event);
    const call = this.#show(event);
    this.#emitted.end(call.id);
    const { name: toolName, result } = event;
    // After the outcome "deferred", the result comes from outside, and another `tool-end` follows when the result arrives.
    const outcome: string = event.outcome;
    if (outcome === "deferred" || call.hasEnded) return;
    call.hasEnded = true;
    const failure = { kind: "tool", toolName, outcome: event.outcome, result } as const;
    const content = outcome === "completed" ? toContent(result) : toFailureText(failure, this.#place.options.onError);
    const facts = { messageId: toResultMessageId(call.id), toolCallId: call.id, role: "tool", content } as const;
    this.#push({ type: "TOOL_CALL_RESULT", ...facts, metadata: { outcome } });
  }

  /**
   * Drops the held-back output of an attempt or of a replayed iteration. For output that the page already shows, sends
   * `attempt-discarded`, because AG-UI cannot remove text.
   */
  #discard(isReplayed: boolean): void {
    const { holding } = this.#outbox;
    const { said } = this.#text;
    const isRecalled = this.#isRecalled && holding !== undefined;
    this.#outbox.drop();
    if (isRecalled) this.#step = undefined;
    else {
      if (holding !== undefined) this.#text = this.#before;
      this.#endText();
    }
    const messageId = isRecalled ? said : this.#text.said;
    this.#discardCalls(holding);
    this.#text = { ...noText, parts: this.#text.parts };
    // A replayed discard needs no event. Pages with `from: "live"` already got `attempt-discarded`, and other pages never got the
    // text.
    if (messageId === undefined || (isRecalled && isReplayed)) return;
    this.custom("attempt-discarded", { messageId }, isRecalled ? "again" : this.#audience);
  }

  #discardCalls(holding: number | undefined): void {
    for (const [callId, call] of this.#calls) {
      if (call.iteration !== this.#iteration) continue;
      const isShown = holding === undefined || call.holding !== holding;
      if (isShown && !call.hasEnded) this.#end({ callId, name: call.name, outcome: "not-run", result: null });
      this.#calls.delete(callId);
      this.#discarded.add(callId);
    }
  }
}
