// One stream holds one answer. A gateway that loses its connection to the service may begin another one in the same stream.

import type { ModelChunk } from "../contract/provider.ts";
import { textOf } from "../kit/read-foreign.ts";
import { providerError } from "./provider-error.ts";

/** Ends an answer that another one has cut off. Neither of them is whole. */
export function cutByAnother(): ModelChunk {
  const message = "The service began another answer before it ended the first one.";
  return { type: "error", error: providerError("stream-ended-early", message) };
}

/** Notices another answer on a wire whose chunks carry the id of their answer. */
export class AnswerIds {
  #id = "";

  /**
   * Whether a chunk belongs to another answer. A new id proves nothing alone, because some gateways make one for each chunk. It
   * counts if the chunk also says who speaks, as a first chunk does, and the answer before it has begun.
   */
  isOther(id: unknown, { saysRole, hasBegun }: { readonly saysRole: boolean; readonly hasBegun: boolean }): boolean {
    const said = textOf(id);
    if (hasBegun && saysRole && said !== "" && this.#id !== "" && said !== this.#id) return true;
    if (!hasBegun || this.#id === "") this.#id = said;
    return false;
  }
}
