import type { ModelChunk } from "../types/provider.ts";
import type { ErrorWord } from "../errors/error-words.ts";
import { withErrorWords } from "../errors/provider-error.ts";
import { toProviderError } from "../errors/read-sdk-error.ts";

/**
 * Returns the last chunks of a stream that ends with an error. Returns undefined if the error needs no other chunks than itself.
 *
 * Services report a filtered prompt and a malformed call as an error, or as the end of an answer. Both ways end the stream alike:
 * another provider does not get a filtered prompt, and the model is asked for the call again.
 */
export function settleError(error: unknown, errorWords?: readonly ErrorWord[]): readonly ModelChunk[] | undefined {
  const read = toProviderError(error);
  const found = withErrorWords(read, errorWords);
  const { code, message } = found;
  if (code !== "content-filter" && code !== "malformed-call") {
    return found === read ? undefined : [{ type: "error", error: found }];
  }
  const finish: ModelChunk = { type: "finish", reason: code, raw: code };
  // The explanation of a filter is from the service, so it is not part of the answer.
  return code === "content-filter" ? [{ type: "details", text: message }, finish] : [finish];
}
