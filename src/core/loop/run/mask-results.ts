// Clears old tool results from requests ("masking").

import type { MaskingOptions } from "../../types/policies.ts";
import type { Masking } from "../../types/common.ts";
import { MaskedTranscript, readMaskingOptions } from "../../middleware/masked-transcript.ts";
import type { ResultMasking } from "../../middleware/mask-results.ts";

/**
 * Clears old tool results from requests, and puts a short note in their place. The transcript keeps the full results. Errors and
 * the results that were passed in `messages` always remain.
 *
 * Throws LoopError "unknown-option" or "invalid-option".
 *
 * @example await runToolLoop({ provider, tools, messages, policies: { masking: maskResults({ keepIterations: 3 }) } });
 */
export function maskResults(options: MaskingOptions = {}): Masking {
  const { force, ...rules } = readMaskingOptions("policies.masking", options);
  const masking: Masking & ResultMasking = { kind: "masking", force, createView: () => new MaskedTranscript(rules) };
  return masking;
}
