// Shortens successful results before they enter the transcript.

import type { ResultPipeline, ResultProcessing } from "../../types/policies.ts";
import { readPipeline } from "../../middleware/result-stages.ts";

/** The value of `policies.results`. */
export interface ResultProcessor extends ResultProcessing {
  readonly pipeline: ResultPipeline;
}

/**
 * Processes successful results before they enter the transcript, in up to three stages. A processor changes each result, an
 * extractor condenses large ones, and a cacher stores large ones elsewhere.
 *
 * Throws LoopError "unknown-option" or "invalid-option".
 *
 * @example
 * const results = processResults({ processor: (tool, text) => text.trim(), cacher: createResultCache().cacher });
 * await runToolLoop({ provider, tools, messages, policies: { results } });
 */
export function processResults(given: ResultPipeline): ResultProcessing {
  const pipeline = readPipeline("policies.results", given);
  const processing: ResultProcessor = { kind: "result-processing", toolName: pipeline.cacher?.toolName, pipeline };
  return processing;
}
