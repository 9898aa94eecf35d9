// One stream holds one answer. A gateway that loses its connection to the service may begin another one in the same stream.

import type { ModelChunk } from "../types/provider.ts";
import { textOf } from "../utils/read-foreign.ts";
import { providerError } from "../errors/provider-error.ts";

/** Ends an answer that another one has cut off. Neither of them is whole. */
export function cutByAnother(): ModelChunk {
  const message = "The service began another answer before it ended the first one.";
  return { type: "error", error: providerError("stream-ended-early", message) };
}

/** A chunk, as far as it may tell of another answer. */
export interface AnswerChunk {
  /** True if it says who speaks, as the first chunk of an answer does. */
  readonly saysRole: boolean;
  /** True if it holds a part of an answer. The last chunk of a gateway may have an id of its own. */
  readonly hasContent: boolean;
  /** True if a part of an answer came before it. */
  readonly hasBegun: boolean;
}

/** Notices another answer on a wire whose chunks carry the id of their answer. */
export class AnswerIds {
  #id = "";
  #isRepeated = false;

  /**
   * True if a chunk belongs to another answer. A new id proves nothing alone, because some gateways make one for each chunk. It
   * counts if the chunk also says who speaks, or if the id before it has come more than once.
   */
  isOther(id: unknown, { saysRole, hasContent, hasBegun }: AnswerChunk): boolean {
    const said = textOf(id);
    if (said === "") return false;
    const isNew = this.#id !== "" && said !== this.#id;
    if (isNew && hasBegun) return saysRole || (hasContent && this.#isRepeated);
    this.#isRepeated = said === this.#id;
    this.#id = said;
    return false;
  }
}
