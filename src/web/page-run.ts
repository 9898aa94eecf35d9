// Tracks a run's steps, text parts and tool calls on a web page. All UI protocols share this code, and each defines the format of its
// chunks.

import type { Json, LoopEvent, LoopEvents } from "../core/index.ts";
import type { EmittedPart, LoopEventType } from "../core/types/loop-event.ts";
import { mayBeDiscarded } from "./page-values.ts";

/**
 * The pages that receive a chunk. A "recalled" chunk is not sent to pages with `from: "live"`, because they already show it. An "again"
 * chunk is sent only to them.
 */
export type Audience = "all" | "recalled" | "again";

/** A chunk, with the pages that receive it. Its position in a stream does not depend on the `from` option. */
export interface Entry<Chunk> {
  readonly chunk: Chunk;
  readonly audience: Audience;
}

/** Chunks held back as long as a provider, or a retry in the journal, may still discard them. */
interface Hold<Chunk> {
  readonly entries: Entry<Chunk>[];
  isSent: boolean;
  /** The state of the text parts before the held-back chunks. */
  readonly texts: Texts;
  /** True for the chunks of a replayed iteration, which a recorded retry may discard. */
  readonly isRecalled: boolean;
}

/** A text part: text from the model or a tool, or reasoning. */
export interface TextPart {
  readonly kind: "text" | "reasoning";
  readonly id: string;
  /** The id of the tool call that emits the text. Undefined for the model. */
  readonly toolCallId?: string | undefined;
}

interface Texts {
  readonly open: (TextPart & { readonly audience: Audience }) | undefined;
  /** The number of text parts in this iteration so far. Their ids contain it, so that a reloaded page gets the same ids. */
  readonly parts: number;
  /** The id of the first text part of this stream. */
  readonly said: string | undefined;
  /** The id of the message to which this stream's calls belong. */
  readonly parent: string | undefined;
}

const noTexts: Texts = { open: undefined, parts: 0, said: undefined, parent: undefined };

/** A tool call on a page. */
export interface PageCall {
  /** The call's id on the page. */
  readonly id: string;
  readonly name: string;
  /** "new" until the page has a part for the call, "open" while its arguments stream, and "ready" until it has its outcome. */
  state: "new" | "open" | "ready" | "ended";
  args: Json;
  /** True if the arguments are not JSON, or were cut off. */
  isUnreadable: boolean;
  readonly isNested: boolean;
  /** The stream and iteration in which the call's part began. */
  stream: number;
  iteration: number;
  audience: Audience;
  /** The held-back chunks that contain the call's first chunk. */
  hold: { readonly isSent: boolean } | undefined;
}

export interface CallFacts {
  readonly name: string;
  readonly args?: Json | undefined;
  readonly problem?: string | undefined;
  readonly path?: readonly string[] | undefined;
}

export interface PageRunOptions {
  /** The prefix of all call ids on the page. Call ids are unique only within a run, but a page shows several runs. */
  readonly prefix: string;
  /** True if `resume: "retry-last"` may later discard replayed messages. This applies only to the outermost run. */
  readonly isOutermost: boolean;
  readonly sendReasoning: boolean;
  readonly holdAttempts: boolean;
  /** True if the page can remove the chunks of the current step. */
  readonly canRemove: boolean;
  /** True if a step ends with its iteration, and false if it ends only when the next step begins. */
  readonly endsSteps: boolean;
}

export interface DiscardedText {
  readonly iteration: number;
  /** The id of the first text part. Undefined if no text was sent. */
  readonly said: string | undefined;
  /** A suffix that distinguishes the id from those of other discarded text in the iteration. */
  readonly mark: string;
  /** False if the page has nothing to discard. */
  readonly isShown: boolean;
}

/** The notes whose data is the same in all UI protocols. */
export type NoteName = "notice" | "masked" | "compaction" | "cost";

type End = LoopEvents["tool-end"];
type Ended = Pick<End, "name" | "outcome" | "result">;
export type Handlers = { readonly [Type in LoopEventType]?: (event: LoopEvents[Type]) => void };

/** Events after which the current attempt is never discarded. */
const releasing: ReadonlySet<LoopEventType> = new Set([
  "tool-start",
  "tool-end",
  "approval-asked",
  "approval-decided",
  "question-asked",
]);

export abstract class PageRun<Chunk> {
  protected readonly calls: Map<string, PageCall> = new Map();
  protected audience: Audience = "all";
  /** The number of streams so far. */
  protected stream = 0;
  protected readonly options: PageRunOptions;
  readonly #out: Entry<Chunk>[];
  #hold: Hold<Chunk> | undefined;
  #texts: Texts = noTexts;
  #partsBefore = 0;
  #iteration = -1;
  #step: { readonly iteration: number; readonly audience: Audience } | undefined;
  /** True if the page has removed the chunks of the current step. */
  #isReset = false;
  /** The number of messages that `resume: "retry-last"` has discarded. */
  #retries = 0;
  /** The ids of calls from discarded attempts. Later events of these calls are ignored. */
  readonly #discarded = new Set<string>();
  /** The open text parts of tools, by the call's id on the page. */
  readonly #emitted = new Map<string, TextPart>();
  readonly #emittedCounts = new Map<string, number>();
  readonly #handlers: Handlers = {
    "iteration-start": (event) => this.#beginStep(event),
    "iteration-end": (event) => {
      if (!mayBeDiscarded(event)) this.release();
      if (this.options.endsSteps) this.endStep();
      else this.endText();
    },
    "text-delta": (event) => this.#addText("text", event),
    "reasoning-delta": (event) => {
      if (this.options.sendReasoning) this.#addText("reasoning", event);
    },
    "tool-args-delta": (event) => {
      const call = this.call(event.callId, event);
      if (call.state === "new") {
        this.begin(call, "open");
        this.push(this.callStart(call));
      }
      if (call.state === "open") this.push(this.callDelta(call, event.text));
    },
    "tool-args-end": (event) => this.#read(event),
    "tool-start": (event) => this.#read(event),
    "tool-emit": ({ callId, name, part }) => {
      const call = this.call(callId, { name });
      this.complete(call);
      this.#emit(call, part);
    },
    // `this.call` adds the call if necessary, because a refused call has no `tool-start`.
    "tool-end": (event) => this.end(this.call(event.callId, event), event),
    "attempt-discarded": (event) => this.#discard(event),
    // Omits "unmarked-restart", which is for developers, not for users.
    notice: ({ kind }) => {
      if (kind !== "unmarked-restart") this.note("notice", { kind });
    },
    masked: ({ calls, tokensBefore, tokensAfter }) =>
      this.note("masked", { toolCallIds: calls.map((callId) => this.toId(callId)), tokensBefore, tokensAfter }),
    "compaction-start": ({ cause }) => this.note("compaction", { state: "started", cause }),
    "compaction-end": ({ outcome, tokensBefore, tokensAfter }) =>
      this.note("compaction", { state: outcome, tokensBefore, tokensAfter }),
  };

  constructor(out: Entry<Chunk>[], options: PageRunOptions) {
    this.#out = out;
    this.options = options;
  }

  /** Handles the events that each protocol shows differently. */
  protected abstract readonly handlers: Handlers;
  protected abstract stepChunk(type: "start" | "end", iteration: number): Chunk;
  protected abstract textId(kind: TextPart["kind"], iteration: number, part: number): string;
  protected abstract textChunks(type: "start" | "end", part: TextPart): readonly Chunk[];
  protected abstract textDelta(part: TextPart, text: string): Chunk;
  protected abstract dataChunk(call: PageCall, part: Extract<EmittedPart, { readonly type: "data" }>): Chunk;
  protected abstract callStart(call: PageCall): Chunk;
  protected abstract callDelta(call: PageCall, text: string): Chunk;
  /** Returns the chunks for the complete arguments. `isNew` is true if no part of them has been sent. */
  protected abstract callReady(call: PageCall, isNew: boolean): readonly Chunk[];
  /** Sends a call's outcome. */
  protected abstract callEnd(call: PageCall, ended: Ended): void;
  /** Called for each call when the events have ended. `isOver` is true if the run will not continue. */
  protected abstract closeCall(call: PageCall, isOver: boolean): void;
  protected abstract discardedChunk(text: DiscardedText): Chunk | undefined;
  /** Shows what a suspended run is waiting for. */
  protected abstract showWaits(end: LoopEvents["run-end"]): void;
  abstract note(name: NoteName, data: object): void;

  toId(key: string): string {
    return this.options.prefix + key;
  }

  add(event: LoopEvent): void {
    if ("callId" in event && this.isDiscarded(event.callId)) return;
    this.audience = event.replayed === true ? "recalled" : "all";
    this.#handle(event);
  }

  #handle<Type extends LoopEventType>(event: { readonly type: Type } & LoopEvents[Type]): void {
    if (releasing.has(event.type)) this.release();
    (this.#handlers[event.type] ?? this.handlers[event.type])?.(event);
  }

  /** Ends all open parts. `end` is undefined if the events ended early. */
  close(end: LoopEvents["run-end"] | undefined): void {
    this.audience = "all";
    this.#endAllEmitted();
    this.release();
    this.endText();
    const isSuspended = end?.status === "suspended";
    for (const call of this.calls.values()) this.closeCall(call, end !== undefined && !isSuspended);
    if (isSuspended) this.showWaits(end);
    this.endStep();
  }

  protected isDiscarded(callId: string): boolean {
    return this.#discarded.has(callId);
  }

  protected push(chunk: Chunk, audience: Audience = this.audience): void {
    (this.#hold?.entries ?? this.#out).push({ chunk, audience });
  }

  protected release(): void {
    const hold = this.#hold;
    if (hold === undefined) return;
    this.#hold = undefined;
    hold.isSent = true;
    // Pushes one at a time, because `push(...entries)` throws if there are more entries than a call can have arguments.
    for (const entry of hold.entries) this.#out.push(entry);
  }

  #holdBack(isRecalled: boolean): void {
    this.#hold ??= { entries: [], isSent: false, texts: this.#texts, isRecalled };
  }

  /** Begins a step. The chunks of a replayed iteration, with its continuations, are held back, because a recorded retry may discard them. */
  #beginStep({ iteration, continuation, replayed }: LoopEvents["iteration-start"]): void {
    this.#endAllEmitted();
    const isFirst = continuation === 0;
    const isRecalled = replayed === true && this.options.isOutermost;
    if (isFirst || !isRecalled) this.release();
    const isSame = iteration === this.#iteration;
    this.#iteration = iteration;
    this.stream += 1;
    // Does not begin a new step for a retry. The retry continues in the step whose chunks the web page has removed.
    if (isFirst && isSame && this.#isReset && this.#step !== undefined) return;
    this.endStep();
    this.#partsBefore = isSame ? this.#texts.parts : 0;
    this.#texts = { ...noTexts, parts: this.#partsBefore };
    this.#isReset = false;
    if (isFirst && isRecalled) this.#holdBack(true);
    this.#step = { iteration, audience: this.audience };
    this.push(this.stepChunk("start", iteration));
  }

  protected endStep(): void {
    this.endText();
    const step = this.#step;
    this.#step = undefined;
    if (step !== undefined) this.push(this.stepChunk("end", step.iteration), step.audience);
  }

  #addText(kind: TextPart["kind"], { text, attempt, isFinal }: LoopEvents["text-delta"]): void {
    if (attempt !== undefined && isFinal !== true && this.options.holdAttempts) this.#holdBack(false);
    if (text === "") return;
    const { open } = this.#texts;
    const part = open?.kind === kind ? open : this.#beginText(kind);
    this.push(this.textDelta(part, text), part.audience);
  }

  #beginText(kind: TextPart["kind"]): NonNullable<Texts["open"]> {
    this.endText();
    const open = { kind, id: this.#nextId(kind), audience: this.audience };
    const { said = open.id, parent = open.id } = this.#texts;
    this.#texts = { ...this.#texts, open, ...(kind === "text" && { said, parent }) };
    this.#pushAll(this.textChunks("start", open));
    return open;
  }

  #nextId(kind: TextPart["kind"]): string {
    const { parts } = this.#texts;
    this.#texts = { ...this.#texts, parts: parts + 1 };
    return this.textId(kind, this.#iteration, parts);
  }

  protected endText(): void {
    const { open } = this.#texts;
    if (open === undefined) return;
    this.#texts = { ...this.#texts, open: undefined };
    this.#pushAll(this.textChunks("end", open), open.audience);
  }

  /** Returns the id of the message that contains a call. */
  protected parentId(): string {
    const parent = this.#texts.parent ?? this.#nextId("text");
    this.#texts = { ...this.#texts, parent };
    return parent;
  }

  #pushAll(chunks: readonly Chunk[], audience?: Audience): void {
    for (const chunk of chunks) this.push(chunk, audience);
  }

  /**
   * Returns the call with this key, after adding it if necessary. The key of a nested run's call begins with the ids of the outer calls.
   */
  protected call(key: string, { name, args, problem, path }: CallFacts): PageCall {
    const call: PageCall = this.calls.get(key) ?? {
      id: this.toId(key),
      name,
      state: "new",
      args: {},
      isUnreadable: false,
      isNested: path !== undefined,
      ...this.#place,
    };
    this.calls.set(key, call);
    if (args !== undefined) call.args = args;
    if (problem !== undefined) call.isUnreadable = true;
    return call;
  }

  protected begin(call: PageCall, state: PageCall["state"]): void {
    this.endText();
    Object.assign(call, { state, ...this.#place });
  }

  get #place(): Pick<PageCall, "stream" | "iteration" | "audience" | "hold"> {
    return { stream: this.stream, iteration: this.#iteration, audience: this.audience, hold: this.#hold };
  }

  #read(event: LoopEvents["tool-args-end"]): void {
    const call = this.call(event.callId, event);
    if (!call.isUnreadable) this.complete(call);
  }

  /** Sends the complete arguments if they have not been sent yet. */
  protected complete(call: PageCall): void {
    const isNew = call.state === "new";
    if (isNew) this.begin(call, "ready");
    else if (call.state !== "open") return;
    const chunks = this.callReady(call, isNew);
    call.state = "ready";
    this.#pushAll(chunks, call.audience);
  }

  protected end(call: PageCall, ended: Ended): void {
    this.#endEmitted(call.id);
    // Ignores "deferred", because another `tool-end` follows when the outside result arrives.
    const outcome: string = ended.outcome;
    if (outcome === "deferred" || call.state === "ended") return;
    this.callEnd(call, ended);
    call.state = "ended";
    call.args = null;
  }

  protected endUnrun(call: PageCall): void {
    this.end(call, { name: call.name, outcome: "not-run", result: null });
  }

  #emit(call: PageCall, part: EmittedPart): void {
    if (part.type === "data") {
      this.#endEmitted(call.id);
      return this.push(this.dataChunk(call, part));
    }
    if (part.text === "") return;
    const open = this.#emitted.get(call.id) ?? this.#beginEmitted(call.id);
    this.push(this.textDelta(open, part.text));
  }

  #beginEmitted(toolCallId: string): TextPart {
    const count = this.#emittedCounts.get(toolCallId) ?? 0;
    this.#emittedCounts.set(toolCallId, count + 1);
    const part: TextPart = { kind: "text", id: `${toolCallId}:text-${count}`, toolCallId };
    this.#emitted.set(toolCallId, part);
    this.#pushAll(this.textChunks("start", part));
    return part;
  }

  #endEmitted(toolCallId: string): void {
    const part = this.#emitted.get(toolCallId);
    this.#emitted.delete(toolCallId);
    if (part !== undefined) this.#pushAll(this.textChunks("end", part));
  }

  #endAllEmitted(): void {
    for (const toolCallId of [...this.#emitted.keys()]) this.#endEmitted(toolCallId);
  }

  /** Drops the held-back chunks, and tells the page to discard text that it already shows. */
  #discard({ attempt, replayed }: LoopEvents["attempt-discarded"]): void {
    this.#endAllEmitted();
    if (attempt === undefined) this.#retries += 1;
    const hold = this.#hold;
    this.#hold = undefined;
    const isRecalled = hold?.isRecalled === true;
    if (isRecalled) this.#step = undefined;
    this.#takeBack(hold);
    const { said, parts } = this.#texts;
    const isShown = isRecalled || this.#step === undefined || parts !== this.#partsBefore;
    const mark = attempt === undefined ? `retry${this.#retries}` : String(this.#partsBefore);
    const chunk = this.discardedChunk({ iteration: this.#iteration, said, mark, isShown });
    // Sends the chunk that discards a replayed message only to web pages that already show the message.
    if (chunk !== undefined && !(isRecalled && replayed === true)) this.push(chunk, isRecalled ? "again" : this.audience);
    this.#isReset = this.options.canRemove;
    if (!this.#isReset) this.#partsBefore = parts;
    this.#texts = { ...noTexts, parts: this.#partsBefore };
    this.#discardCalls(hold, attempt === undefined);
  }

  /**
   * Restores the text parts from before an attempt that was held back. Ends the open text, unless the page removes it or never received it.
   */
  #takeBack(hold: Hold<Chunk> | undefined): void {
    const isRecalled = hold?.isRecalled === true;
    if (hold !== undefined && !isRecalled) this.#texts = hold.texts;
    if (isRecalled || this.options.canRemove) this.#texts = { ...this.#texts, open: undefined };
    this.endText();
  }

  #discardCalls(hold: Hold<Chunk> | undefined, isWhole: boolean): void {
    for (const [key, call] of this.calls) {
      const isOfStream = isWhole ? call.iteration === this.#iteration : call.stream === this.stream;
      if (!isOfStream && (hold === undefined || call.hold !== hold)) continue;
      const isShown = call.state !== "new" && call.hold?.isSent !== false;
      if (isShown && !this.options.canRemove) this.endUnrun(call);
      this.calls.delete(key);
      this.#discarded.add(key);
    }
  }
}
