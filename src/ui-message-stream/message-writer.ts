// Collects the chunks of a message, and begins and ends its steps and text parts.

import type { UIMessageChunk, UIVersion } from "./ui-message-chunk.ts";

/** Chunks that are held back until the attempt can no longer be discarded. */
export interface Hold {
  readonly chunks: UIMessageChunk[];
  isSent: boolean;
  /** The open part when the hold began, to restore if the attempt is discarded. */
  readonly open: OpenText | undefined;
  /** The number of parts when the hold began. */
  readonly parts: number;
}

type TextKind = "text" | "reasoning";

interface OpenText {
  readonly kind: TextKind;
  readonly id: string;
}

/** Writes chunks in order. A text or reasoning part begins with its first fragment, and ends before another part begins. */
export class MessageWriter {
  readonly #version: UIVersion;
  #out: UIMessageChunk[] = [];
  #hold: Hold | undefined;
  #open: OpenText | undefined;
  #inStep = false;
  /** The current iteration. Part ids are made from it and `#parts`, so that a reloaded page gets the same ids. */
  #iteration = -1;
  #parts = 0;
  #partsBefore = 0;

  constructor(version: UIVersion) {
    this.#version = version;
  }

  /** The chunks that are currently held back. Undefined if no chunks are held back. */
  get hold(): Hold | undefined {
    return this.#hold;
  }

  take(): UIMessageChunk[] {
    const out = this.#out;
    this.#out = [];
    return out;
  }

  /** Writes a chunk that begins another part. Ends the open text part first. */
  write(chunk: UIMessageChunk): void {
    this.endText();
    this.#push(chunk);
  }

  /** Writes a chunk that begins no part. Such a chunk may come between two fragments of a text. */
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

  beginStep(iteration: number): void {
    this.endStep();
    if (iteration !== this.#iteration) this.#parts = 0;
    this.#iteration = iteration;
    this.#partsBefore = this.#parts;
    this.#inStep = true;
    this.#push({ type: "start-step" });
  }

  endStep(): void {
    this.release();
    this.endText();
    if (!this.#inStep) return;
    this.#inStep = false;
    this.#push({ type: "finish-step" });
  }

  /** Holds back all following chunks until `release`. */
  holdBack(): void {
    this.#hold ??= { chunks: [], isSent: false, open: this.#open, parts: this.#parts };
  }

  release(): void {
    if (this.#hold === undefined) return;
    this.#hold.isSent = true;
    const { chunks } = this.#hold;
    this.#hold = undefined;
    // `push(...chunks)` would fail for an attempt with more chunks than the maximum number of arguments.
    for (const chunk of chunks) this.#out.push(chunk);
  }

  /**
   * Discards the text of the current attempt. In versions 5 and 6, held-back text is dropped. Text that was already sent stays visible,
   * and is followed by a `data-attempt-discarded` part.
   */
  discard(): void {
    if (!this.#inStep) return;
    if (this.#version === 7) {
      this.#open = undefined;
      this.#parts = this.#partsBefore;
      this.#push({ type: "reset-step" });
      return;
    }
    if (this.#hold !== undefined) {
      this.#open = this.#hold.open;
      this.#parts = this.#hold.parts;
      this.#hold = undefined;
    }
    this.endText();
    if (this.#parts === this.#partsBefore) return;
    const id = `discarded-${this.#iteration}-${this.#partsBefore}`;
    this.#partsBefore = this.#parts;
    this.#push({ type: "data-attempt-discarded", id, data: { iteration: this.#iteration } });
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
