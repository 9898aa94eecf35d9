import type { ModelChunk } from "../types/provider.ts";
import type { ErrorWord } from "../errors/error-words.ts";
import { toProviderError, withErrorWords } from "../errors/provider-error.ts";

export interface SettlePorts {
  readonly errorWords: readonly ErrorWord[] | undefined;
  /** True if the answer already has text. */
  readonly hasText: boolean;
}

/**
 * Returns the last chunks of a stream that ends with an error. Returns undefined if the error needs no other chunks than itself.
 *
 * Services report a filtered prompt and a malformed call as an error, or as the end of an answer. Both ways end the stream alike:
 * another provider does not get a filtered prompt, and the model is asked for the call again.
 */
export function settleError(error: unknown, { errorWords, hasText }: SettlePorts): readonly ModelChunk[] | undefined {
  const read = toProviderError(error);
  const found = withErrorWords(read, errorWords);
  const { code, message } = found;
  switch (code) {
    case "content-filter":
      return [
        { type: "refusal-delta", text: hasText ? `\n\n${message}` : message },
        { type: "finish", reason: code, raw: code },
      ];
    case "malformed-call":
      return [{ type: "finish", reason: code, raw: code }];
    default:
      return found === read ? undefined : [{ type: "error", error: found }];
  }
}
