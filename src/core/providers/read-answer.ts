import type { Json, Usage } from "../types/common.ts";
import type { FinishReason, ModelChunk } from "../types/provider.ts";
import { providerError } from "../errors/provider-error.ts";
import { growUsage } from "../utils/count-usage.ts";
import { isRecord, type UnknownRecord } from "../utils/guards.ts";
import { AnswerIds } from "./answer-ids.ts";
import { meaningOf } from "./finish-words.ts";
import type { FinishWords } from "./judge-finish.ts";
import type { EventReader } from "./read-sdk-stream.ts";
import { pushError } from "./sdk-provider.ts";

/** True for the finish reasons of an answer that ended normally. */
export function isCleanEnd(reason: FinishReason): boolean {
  return reason === "stop" || reason === "tool-calls";
}

/** The state that the event readers of all services share: how the answer ends, and its token counts. */
export class Answer {
  readonly out: ModelChunk[];
  readonly words: FinishWords;
  /** Detects a second answer in the stream, if each chunk has the id of its answer. */
  readonly ids: AnswerIds = new AnswerIds();
  /** The finish reason of the service, and what it means. Undefined until the service sent one. */
  finish: { readonly raw: string; readonly reason: FinishReason } | undefined;
  /** The token counts so far. */
  usage: Usage | undefined;
  /** True if the stream has failed. The rest of the stream is not read. */
  failed = false;
  /** True if no more events are expected. */
  isOver = false;
  /** True if further events are ignored. */
  isClosed = false;
  /** True if the answer has text that is not blank. */
  hasText = false;
  /** Why the service refused or filtered the answer. */
  explanation = "";

  constructor(out: ModelChunk[], words: FinishWords) {
    this.out = out;
    this.words = words;
  }

  /** Returns the meaning of a finish reason of the service. */
  reasonOf(raw: string): FinishReason {
    return meaningOf(raw, this.words);
  }

  /**
   * Notes the finish reason. A second finish reason replaces the first only if the first was normal, so an abnormal one is
   * never lost. Returns the finish reason that is kept.
   */
  stop(raw: string): FinishReason {
    if (this.finish === undefined || isCleanEnd(this.finish.reason)) this.finish = { raw, reason: this.reasonOf(raw) };
    return this.finish.reason;
  }

  /** Sends token counts. */
  count(usage: Usage | undefined): void {
    if (usage === undefined) return;
    this.usage = growUsage(this.usage, usage);
    this.out.push({ type: "usage", usage: this.usage, mode: "snapshot" });
  }

  /** Sends an error event of the service, and stops reading. */
  fail(error: unknown): void {
    this.failed = true;
    pushError(error, this.out);
  }

  /** Ignores further events. */
  close(): void {
    this.isOver = true;
    this.isClosed = true;
  }

  /**
   * Stops reading, because another answer begins in the same stream. If the first answer is not complete, the stream ends with
   * `stream-ended-early`, retryable.
   */
  leave(): void {
    this.close();
    if (this.finish !== undefined) return;
    this.failed = true;
    const message = "The service began another answer before the first was complete.";
    this.out.push({ type: "error", error: providerError("stream-ended-early", message) });
  }

  /** Notes text of the answer. */
  watchText(text: string): void {
    this.hasText ||= text.trim() !== "";
  }

  /** Sends the explanation of the service as a refusal, after the text of the answer. */
  explain(): void {
    const { explanation } = this;
    if (explanation !== "") this.out.push({ type: "refusal-delta", text: this.hasText ? `\n\n${explanation}` : explanation });
  }

  /** Sends the provider metadata of a finished answer. */
  keep(items: readonly Json[]): void {
    for (const item of items) this.out.push({ type: "provider-metadata", item });
  }
}

interface EventHandlers {
  read(event: UnknownRecord): void;
  end(): void;
  /** Default: true after the finish reason. */
  isFinished?(): boolean;
  /** Default: false. */
  mayGoOn?(): boolean;
}

/** Creates an event reader. Events that are not objects are ignored. */
export function createEventReader(answer: Answer, handlers: EventHandlers): EventReader {
  return {
    get finished() {
      return handlers.isFinished?.() ?? answer.finish !== undefined;
    },
    get isOver() {
      return answer.isOver;
    },
    get mayGoOn() {
      return handlers.mayGoOn?.() ?? false;
    },
    get failed() {
      return answer.failed;
    },
    read(event) {
      if (isRecord(event) && !answer.isClosed) handlers.read(event);
    },
    end: () => handlers.end(),
  };
}
