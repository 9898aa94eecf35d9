import type { Json, Usage } from "../../core/types/common.ts";
import type { FinishReason, ModelChunk } from "../../core/types/provider.ts";
import { providerError } from "../errors/provider-error.ts";
import { growUsage } from "../count-usage.ts";
import { isRecord, type UnknownRecord } from "../guards.ts";
import { meaningOf, type FinishWords } from "../judge-finish.ts";
import type { EventReader } from "./read-sdk-stream.ts";
import { pushError } from "./sdk-provider.ts";
import { textOf } from "../plain-error.ts";

/** Properties of a chunk that indicate whether it belongs to a second answer. */
export interface AnswerChunk {
  readonly id: unknown;
  /** True if the chunk has a role, like the first chunk of an answer. */
  readonly saysRole: boolean;
  /** True if the chunk contains a part of an answer. */
  readonly hasContent: boolean;
  /** True if the chunk has a finish reason. Some gateways send the last chunk under a different id. */
  readonly isLast: boolean;
  /** True if an earlier chunk contained a part of an answer. */
  readonly hasBegun: boolean;
}

/**
 * Detects a second answer within one stream, if each chunk has its answer's id. A new id alone is not enough, because some gateways
 * generate a new id for each chunk or for the last one. A role is not enough either, because some gateways send one in each chunk. A
 * second answer has content with a new id and, in addition, either the second role in the stream, or an earlier id that occurred more
 * than once.
 */
export class AnswerIds {
  #id = "";
  #isRepeated = false;
  #roles = 0;
  /** The id of the latest chunk that had a role. */
  #opened = "";
  #held: UnknownRecord | undefined;

  /**
   * Returns the chunks to read now, or undefined if the chunk belongs to a second answer. Holds a chunk back if only the next chunk can
   * tell which answer it belongs to.
   */
  sort(chunk: UnknownRecord, facts: AnswerChunk): readonly UnknownRecord[] | undefined {
    const id = textOf(facts.id);
    const held = this.rest();
    if (held.length > 0) {
      if (id === this.#opened) return undefined;
      this.#roles = Number.POSITIVE_INFINITY;
    }
    if (facts.saysRole) this.#roles += 1;
    const isNew = id !== "" && this.#id !== "" && id !== this.#id && facts.hasBegun;
    const verdict = isNew ? this.#judge(id, facts) : "same";
    if (!isNew) this.#note(id);
    if (verdict === "other") return undefined;
    if (verdict === "same") return [...held, chunk];
    this.#held = chunk;
    return held;
  }

  /** Returns the chunk that was held back. Call this method when the stream ends. */
  rest(): readonly UnknownRecord[] {
    const held = this.#held === undefined ? [] : [this.#held];
    this.#held = undefined;
    return held;
  }

  #judge(id: string, facts: AnswerChunk): "same" | "other" | "unsure" {
    const { saysRole, isLast } = facts;
    const isOpened = id === this.#opened;
    const isRepeated = this.#isRepeated || isOpened;
    if (saysRole && !isLast) this.#opened = id;
    else this.#note(id);
    if (!facts.hasContent) return "same";
    const tellsRole = this.#roles <= 2 && (saysRole || isOpened);
    if (isRepeated) return tellsRole || !isLast ? "other" : "same";
    return tellsRole && !isLast ? "unsure" : "same";
  }

  #note(id: string): void {
    if (id === "") return;
    this.#isRepeated = id === this.#id;
    this.#id = id;
  }
}

/** True if an answer with this finish reason ended normally. */
export function isCleanEnd(reason: FinishReason): boolean {
  return reason === "stop" || reason === "tool-calls";
}

/** The state that all event readers share: how the answer ends, and its token counts. */
export class Answer {
  readonly out: ModelChunk[];
  readonly words: FinishWords;
  /** Detects a second answer in the stream, if each chunk has its answer's id. */
  readonly ids: AnswerIds = new AnswerIds();
  /** The service's finish reason, and its meaning. Undefined until the service has sent one. */
  finish: { readonly raw: string; readonly reason: FinishReason } | undefined;
  /** The latest token counts. */
  usage: Usage | undefined;
  /** True if the stream failed. The rest of the stream is then not read. */
  failed = false;
  /** True if no more events are expected. */
  isOver = false;
  /** True if all later events are ignored. */
  isClosed = false;
  /** True if the answer has non-blank text. */
  hasText = false;
  /** The service's explanation if it refused or filtered the answer. */
  explanation = "";

  constructor(out: ModelChunk[], words: FinishWords) {
    this.out = out;
    this.words = words;
  }

  /** Returns the meaning of one of the service's finish reasons. */
  reasonOf(raw: string): FinishReason {
    return meaningOf(raw, this.words);
  }

  /**
   * Stores the finish reason. A second finish reason replaces the first only if the first was normal, so an abnormal one is
   * never lost. Returns the stored finish reason.
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

  /** Sends a service's error event, and stops reading. */
  fail(error: unknown): void {
    this.failed = true;
    pushError(error, this.out);
  }

  /** Ignores all later events. */
  close(): void {
    this.isOver = true;
    this.isClosed = true;
  }

  /**
   * Stops reading, because a second answer begins in the same stream. If the first answer is incomplete, the stream ends with the retryable
   * error `stream-ended-early`.
   */
  leave(): void {
    this.close();
    if (this.finish !== undefined) return;
    this.failed = true;
    const message = "The service began another answer before the first was complete.";
    this.out.push({ type: "error", error: providerError("stream-ended-early", message) });
  }

  /** Records that the answer has text, unless the text is blank. */
  watchText(text: string): void {
    this.hasText ||= text.trim() !== "";
  }

  /** Sends the service's explanation as a refusal, after the text of the answer. */
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
  /** True once the answer is complete. Default: after the finish reason. */
  isFinished?(): boolean;
  /** True if a finished answer may still continue. Default: false. */
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
