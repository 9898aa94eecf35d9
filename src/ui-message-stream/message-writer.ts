// Collects the chunks of a message: its steps, and the text parts that are open in them.

import type { UIMessageChunk, UIVersion } from "./ui-message-chunk.ts";

/** Chunks that wait until the attempt of a wrapping provider stands. */
export interface Hold {
  readonly chunks: UIMessageChunk[];
  isSent: boolean;
  /** The state of the writer before the first of them. */
  readonly open: OpenText | undefined;
  readonly parts: number;
}

type TextKind = "text" | "reasoning";

interface OpenText {
  readonly kind: TextKind;
  readonly id: string;
}

/** Writes chunks in order. Text and reasoning parts begin with their first fragment, and end before anything else. */
export class MessageWriter {
  readonly #version: UIVersion;
  #out: UIMessageChunk[] = [];
  #hold: Hold | undefined;
  #open: OpenText | undefined;
  #inStep = false;
  /** The iteration of the step, and the number of its parts. They make the ids, so that a reload makes the same ones. */
  #iteration = -1;
  #parts = 0;
  /** The number of parts before the current attempt. */
  #partsBefore = 0;

  constructor(version: UIVersion) {
    this.#version = version;
  }

  /** The chunks that are held back now, if any. */
  get hold(): Hold | undefined {
    return this.#hold;
  }

  /** Returns the chunks since the last call. */
  take(): UIMessageChunk[] {
    const out = this.#out;
    this.#out = [];
    return out;
  }

  /** Writes a chunk that begins another part. */
  write(chunk: UIMessageChunk): void {
    this.endText();
    this.#push(chunk);
  }

  /** Writes a chunk that changes a part, or none. It may come between two fragments of a text. */
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

  /** Holds chunks back from here on. */
  holdBack(): void {
    this.#hold ??= { chunks: [], isSent: false, open: this.#open, parts: this.#parts };
  }

  /** Sends what was held back. */
  release(): void {
    if (this.#hold === undefined) return;
    this.#hold.isSent = true;
    const { chunks } = this.#hold;
    this.#hold = undefined;
    // Not with a spread: an attempt may have more chunks than a function takes arguments.
    for (const chunk of chunks) this.#out.push(chunk);
  }

  /** Takes back the text of the step. A page of version 5 or 6 that already shows part of it gets a `data-attempt-discarded` part. */
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
