import type { UnknownRecord } from "../utils/guards.ts";
import { textOf } from "../utils/plain-error.ts";

/** Properties of a chunk that show if it belongs to a second answer. */
export interface AnswerChunk {
  readonly id: unknown;
  /** True if the chunk has a role, like the first chunk of an answer. */
  readonly saysRole: boolean;
  /** True if the chunk contains a part of an answer. */
  readonly hasContent: boolean;
  /** True if the chunk has a finish reason. Some gateways send a last chunk with another id. */
  readonly isLast: boolean;
  /** True if an earlier chunk contained a part of an answer. */
  readonly hasBegun: boolean;
}

/**
 * Detects a second answer within one stream, if each chunk has the id of its answer. A new id alone is not enough: some gateways
 * make a new id for each chunk or for the last chunk. Nor is a role, which some gateways send in each chunk. A second answer has
 * content with a new id. Also, its role is the second one of the stream, or the earlier id occurred more than once.
 */
export class AnswerIds {
  #id = "";
  #isRepeated = false;
  #roles = 0;
  /** The latest new id of a chunk with a role. */
  #opened = "";
  #held: UnknownRecord | undefined;

  /**
   * Returns the chunks to read now, or undefined if the chunk belongs to a second answer. A chunk is held back if only the next
   * chunk can show that it does.
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

  /** Returns the chunk that was held back. Call this method at the end of the stream. */
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
