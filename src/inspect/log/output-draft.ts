// Collects a stream's output, so that the log contains one line instead of one per fragment.

import type { LoopEvents, ModelChunk } from "../../core/index.ts";
import type { Cleaner } from "./clean-values.ts";
import type { LogFields } from "./log-lines.ts";
import { type Measured, measureList } from "./shared-values.ts";

interface DraftCall {
  readonly callId: string;
  readonly name: string;
  readonly index: number;
  readonly args: Measured | undefined;
  readonly problem: string | undefined;
  readonly at: number;
}

type Chunk<Type extends ModelChunk["type"]> = Extract<ModelChunk, { readonly type: Type }>;

interface OutputParts {
  readonly text: string;
  readonly reasoning: string;
  readonly details: string;
  readonly calls: readonly DraftCall[];
  readonly providerMetadata: readonly unknown[];
  readonly thoughtLog?: unknown;
  readonly finish?: string | undefined;
  readonly rawFinish?: string | undefined;
  readonly error?: unknown;
}

export function outputFields(cleaner: Cleaner, { calls, providerMetadata, ...parts }: OutputParts): LogFields {
  const textOf = (text: string): string | undefined => (text === "" ? undefined : cleaner.text(text, "output"));
  return {
    text: textOf(parts.text),
    reasoning: textOf(parts.reasoning),
    details: textOf(parts.details),
    calls: calls.length === 0 ? undefined : measureList(calls.map((call) => ({ ...call }))),
    providerMetadata: providerMetadata.length === 0 ? undefined : cleaner.content(providerMetadata, "metadata"),
    thoughtLog: cleaner.content(parts.thoughtLog, "output"),
    finish: parts.finish,
    rawFinish: parts.rawFinish,
    error: cleaner.fields(parts.error, "error"),
  };
}

interface Ended {
  readonly finish?: Chunk<"finish"> | undefined;
  readonly error?: Chunk<"error">["error"] | undefined;
}

export class OutputDraft {
  readonly #place: LogFields;
  readonly #cleaner: Cleaner;
  #text = "";
  #reasoning = "";
  #details = "";
  #calls: DraftCall[] = [];
  #metadata: unknown[] = [];
  #thoughtLog: unknown;
  #ended: Ended | undefined;

  constructor({ iteration, continuation, replayed }: LoopEvents["iteration-start"], cleaner: Cleaner) {
    this.#place = { iteration, continuation, replayed };
    this.#cleaner = cleaner;
  }

  get isOver(): boolean {
    return this.#ended !== undefined;
  }

  get place(): LogFields {
    return this.#place;
  }

  addText(type: "text-delta" | "reasoning-delta", text: string): void {
    if (type === "text-delta") this.#text += text;
    else this.#reasoning += text;
  }

  addCall({ callId, name, index, args, problem }: LoopEvents["tool-args-end"], at: number): void {
    const cleaner = this.#cleaner;
    this.#calls.push({
      callId: cleaner.id(callId),
      name: cleaner.id(name),
      index,
      args: cleaner.content(args, "arguments"),
      problem,
      at,
    });
  }

  /** Adds the parts of the output that only the stream's chunks contain, because no event reports them. */
  addChunk(chunk: ModelChunk): void {
    if (chunk.type === "finish") this.#ended ??= { finish: chunk };
    else if (chunk.type === "error") this.#ended ??= { error: chunk.error };
    else if (chunk.type === "provider-metadata") this.#metadata.push(chunk.item);
    else if (chunk.type === "thought-log") this.#thoughtLog = chunk.payload;
    else if (chunk.type === "details") this.#details += chunk.text;
  }

  /** Returns the fields of the output so far, and starts a new output. Returns undefined if there is no output. */
  takeFields(): LogFields | undefined {
    if (this.#isEmpty) return undefined;
    const ended = this.#ended;
    const fields = outputFields(this.#cleaner, {
      text: this.#text,
      reasoning: this.#reasoning,
      details: this.#details,
      calls: this.#calls,
      providerMetadata: this.#metadata,
      thoughtLog: this.#thoughtLog,
      finish: ended?.finish?.reason,
      rawFinish: ended?.finish?.raw,
      error: ended?.error,
    });
    this.#clear();
    if (ended !== undefined) this.#ended = written;
    return { ...this.#place, ...fields };
  }

  get #isEmpty(): boolean {
    const hasText = this.#text + this.#reasoning + this.#details !== "";
    const hasParts = this.#calls.length + this.#metadata.length > 0 || this.#thoughtLog !== undefined;
    return !hasText && !hasParts && (this.#ended === undefined || this.#ended === written);
  }

  #clear(): void {
    [this.#text, this.#reasoning, this.#details, this.#calls, this.#metadata] = ["", "", "", [], []];
    this.#thoughtLog = undefined;
  }
}

/** Indicates that the end of the stream is already in the log. */
const written: Ended = {};
