// Clears old tool results from requests ("masking").

import type { MaskingOptions } from "../../types/policies.ts";
import type { Masking } from "../../types/common.ts";
import { checkFields, type Checks } from "../../errors/check-fields.ts";
import { MaskedTranscript } from "../../middleware/masked-transcript.ts";
import type { ResultMasking } from "./run.ts";

const count = { min: 0 };

const checks: Checks<MaskingOptions> = {
  keepIterations: count,
  minTokens: count,
  force: ["a Set of iteration numbers", (value) => value instanceof Set],
  batchOf: { min: 1, infinite: false },
};

/** The default of `minTokens`: smaller results are not masked. */
const leastMasked = 500;

/**
 * Clears old tool results from requests, and puts a short note in their place. The transcript keeps the full results. Errors and
 * the results that were passed in `messages` always remain.
 *
 * Throws LoopError "unknown-option" or "invalid-option".
 *
 * @example await runToolLoop({ provider, tools, messages, policies: { masking: maskResults({ keepIterations: 3 }) } });
 */
export function maskResults(options: MaskingOptions = {}): Masking {
  checkFields("policies.masking", options, checks);
  const { keepIterations = 2, minTokens = leastMasked, batchOf = 1, force } = options;
  const rules = { keepIterations, minTokens, batchOf };
  const masking: ResultMasking = { kind: "masking", force, createView: () => new MaskedTranscript(rules) };
  return masking;
}
