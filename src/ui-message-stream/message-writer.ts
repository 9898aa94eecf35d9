import type { EmittedPart } from "../core/kit.ts";
import type { LoopEvents } from "../core/index.ts";
import type { UIMessageChunk, UIVersion } from "./ui-message-chunk.ts";

/** Chunks of an attempt that are held back while a provider may still discard the attempt. */
export interface Hold {
  readonly chunks: UIMessageChunk[];
  isSent: boolean;
  /** The text or reasoning part that was open before the attempt. If the attempt is discarded, this part is open again. */
  readonly open: OpenText | undefined;
  /** The number of parts before the attempt. */
  readonly parts: number;
  /** True if the chunks belong to a replayed iteration. A recorded retry may discard these chunks. */
  readonly isRecalled: boolean;
}

type TextKind = "text" | "reasoning";

interface OpenText {
  readonly kind: TextKind;
  readonly id: string;
}

/**
 * Writes the chunks of a message in order. Also begins and ends the steps, the text parts and the reasoning parts of the message.
 */
export class MessageWriter {
  /** How many assistant messages `resume: "retry-last"` has discarded. */
  retries = 0;
  readonly #version: UIVersion;
  #out: UIMessageChunk[] = [];
  #hold: Hold | undefined;
  #open: OpenText | undefined;
  #inStep = false;
  /** Part ids are made from `#iteration` and `#parts`, so a reloaded page gets the same ids. */
  #iteration = -1;
  #parts = 0;
  #partsBefore = 0;
  /** True if a `reset-step` chunk has removed the parts of the current step from the page. */
  #isReset = false;

  constructor(version: UIVersion) {
    this.#version = version;
  }

  get hold(): Hold | undefined {
    return this.#hold;
  }

  take(): UIMessageChunk[] {
    const out = this.#out;
    this.#out = [];
    return out;
  }

  /** Ends the open text part, then writes a chunk that begins another part. */
  write(chunk: UIMessageChunk): void {
    this.endText();
    this.#push(chunk);
  }

  /** Writes a chunk that begins no part, so it may come between two fragments of a text. */
  writeBeside(chunk: UIMessageChunk): void {
    this.#push(chunk);
  }

  writeText(kind: TextKind, text: string): void {
    if (this.#open?.kind !== kind) this.#beginText(kind);
    const id = this.#open?.id ?? "";
    this.#push({ type: kind === "text" ? "text-delta" : "reasoning-delta", id, delta: text });
  }

  endText(): void {
    if (this.#open === undefined) return;
    const { kind, id } = this.#open;
    this.#open = undefined;
    this.#push({ type: kind === "text" ? "text-end" : "reasoning-end", id });
  }

  /** Begins a step. Holds back the chunks of a replayed iteration, including its continuations, until `release`. */
  beginStep({
    iteration,
    continuation,
    replayed,
  }: Pick<LoopEvents["iteration-start"], "iteration" | "continuation" | "replayed">): void {
    const isSame = iteration === this.#iteration;
    this.#iteration = iteration;
    if (!isSame) this.#parts = 0;
    if (continuation === 0 || this.#hold?.isRecalled !== true) this.release();
    // A retry after `reset-step` continues in the same step, so no new step begins.
    if (continuation === 0 && isSame && this.#isReset && this.#inStep) return;
    this.#closeStep();
    if (continuation === 0 && replayed === true)
      this.#hold = { chunks: [], isSent: false, open: undefined, parts: this.#parts, isRecalled: true };
    this.#isReset = false;
    this.#partsBefore = this.#parts;
    this.#inStep = true;
    this.#push({ type: "start-step" });
  }

  endStep(): void {
    this.release();
    this.#closeStep();
  }

  #closeStep(): void {
    this.endText();
    if (!this.#inStep) return;
    this.#inStep = false;
    this.#push({ type: "finish-step" });
  }

  /** Holds back all following chunks until `release` is called. */
  holdBack(): void {
    this.#hold ??= { chunks: [], isSent: false, open: this.#open, parts: this.#parts, isRecalled: false };
  }

  release(): void {
    if (this.#hold === undefined) return;
    this.#hold.isSent = true;
    const { chunks } = this.#hold;
    this.#hold = undefined;
    // `push(...chunks)` throws if `chunks` has more entries than a function call can have arguments.
    for (const chunk of chunks) this.#out.push(chunk);
  }

  /**
   * Discards the text of the current attempt. In a replayed iteration, drops the held-back chunks. Otherwise, version 7 removes the
   * text from the page. Versions 5 and 6 cannot remove text: held-back text is dropped, and text that was already sent stays
   * visible, followed by a `data-attempt-discarded` part. Returns the dropped chunks.
   */
  discard({ iteration, attempt }: Pick<LoopEvents["attempt-discarded"], "iteration" | "attempt">): Hold | undefined {
    if (attempt === undefined) this.retries += 1;
    const hold = this.#hold;
    if (hold?.isRecalled === true) {
      this.#drop(hold);
      this.#inStep = false;
      return hold;
    }
    if (this.#version === 7) {
      this.#open = undefined;
      this.#parts = this.#partsBefore;
      this.#isReset = true;
      this.#push({ type: "reset-step" });
      return undefined;
    }
    if (hold !== undefined) this.#drop(hold);
    this.endText();
    // A step without text on the page needs no `data-attempt-discarded`. Outside a step, the page still shows the text of the
    // discarded stream, so the chunk is needed.
    if (this.#inStep && this.#parts === this.#partsBefore) return hold;
    const id = `discarded-${iteration}-${attempt === undefined ? `retry${this.retries}` : this.#partsBefore}`;
    this.#partsBefore = this.#parts;
    this.#push({ type: "data-attempt-discarded", id, data: { iteration } });
    return hold;
  }

  #drop({ open, parts }: Hold): void {
    this.#open = open;
    this.#parts = parts;
    this.#hold = undefined;
  }

  #beginText(kind: TextKind): void {
    this.endText();
    const id = `${kind}-${this.#iteration}-${this.#parts}`;
    this.#parts += 1;
    this.#open = { kind, id };
    this.#push({ type: kind === "text" ? "text-start" : "reasoning-start", id });
  }

  #push(chunk: UIMessageChunk): void {
    if (this.#hold === undefined) this.#out.push(chunk);
    else this.#hold.chunks.push(chunk);
  }
}

/** Writes the parts that tools emit. Each call has its own text parts, next to the text of the model. */
export class EmittedParts {
  readonly #writer: MessageWriter;
  /** The open text parts, by the id that the page uses for the tool call. */
  readonly #open = new Map<string, string>();
  readonly #textCounts = new Map<string, number>();

  constructor(writer: MessageWriter) {
    this.#writer = writer;
  }

  add(toolCallId: string, part: EmittedPart): void {
    if (part.type === "text") {
      if (part.text === "") return;
      const id = this.#open.get(toolCallId) ?? this.#begin(toolCallId);
      return this.#writer.writeBeside({ type: "text-delta", id, delta: part.text });
    }
    this.end(toolCallId);
    const { name, data, id } = part;
    this.#writer.writeBeside({ type: `data-${name}`, ...(id !== undefined && { id: `${toolCallId}:${id}` }), data });
  }

  #begin(toolCallId: string): string {
    const count = this.#textCounts.get(toolCallId) ?? 0;
    const id = `${toolCallId}:text-${count}`;
    this.#textCounts.set(toolCallId, count + 1);
    this.#open.set(toolCallId, id);
    this.#writer.writeBeside({ type: "text-start", id, providerMetadata: { turnwright: { toolCallId } } });
    return id;
  }

  end(toolCallId: string): void {
    const id = this.#open.get(toolCallId);
    if (id === undefined) return;
    this.#open.delete(toolCallId);
    this.#writer.writeBeside({ type: "text-end", id });
  }

  endAll(): void {
    for (const toolCallId of [...this.#open.keys()]) this.end(toolCallId);
  }
}
