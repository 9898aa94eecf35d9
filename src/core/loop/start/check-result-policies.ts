// Checks the policies about results, before any request.

import type { LoopPolicies, MaskingPolicy, ResultCacher, ResultExtractor, ResultPipeline } from "../../types/policies.ts";
import type { LoopOptions } from "../../types/loop-options.ts";
import {
  type Check,
  checkFields,
  checkNeeded,
  type Checks,
  invalidOption,
  is,
  isFunction,
  numberWithin,
} from "../../errors/check-fields.ts";
import { LoopError } from "../../errors/loop-error.ts";
import { isRecord } from "../../utils/guards.ts";

const count = /* @__PURE__ */ numberWithin({ min: 0 });

const pipelineChecks: Checks<ResultPipeline> = {
  processor: is.fn,
  extractor: ['an object with "extract"', isRecord],
  cacher: ['an object with "store"', isRecord],
};

const extractorChecks: Checks<ResultExtractor> = { threshold: count, extract: is.fn };

const cacherChecks: Checks<ResultCacher> = {
  threshold: count,
  store: is.fn,
  toolName: is.text,
};

const maskingChecks: Checks<MaskingPolicy> = {
  keepIterations: count,
  minTokens: count,
  force: ["a Set of iteration numbers", (value) => value instanceof Set],
  batchOf: /* @__PURE__ */ numberWithin({ min: 1, infinite: false }),
};

/** Throws LoopError "unknown-option" or "invalid-option". */
export function checkResultPolicies({ results, masking }: LoopPolicies): void {
  if (masking !== undefined) checkFields("policies.masking", masking, maskingChecks);
  if (results === undefined) return;
  checkFields("policies.results", results, pipelineChecks);
  const { extractor, cacher } = results;
  if (extractor !== undefined) checkStage("policies.results.extractor", extractor, { checks: extractorChecks, does: "extract" });
  if (cacher !== undefined) checkStage("policies.results.cacher", cacher, { checks: cacherChecks, does: "store" });
}

/** A model that is pointed to a tool must have it. A registry may get it later. */
export function checkCacheTool({ tools = [], policies }: LoopOptions): void {
  const toolName = policies?.results?.cacher?.toolName;
  if (toolName === undefined || !Array.isArray(tools)) return;
  if (tools.some((tool: unknown) => isRecord(tool) && tool["name"] === toolName)) return;
  const expected = `an array with the tool "${toolName}", which the texts of "policies.results.cacher" point to`;
  throw new LoopError("invalid-option", { option: "tools", expected, received: "one without it" });
}

/** Instances of classes have fields of their own, so that only what a stage needs is looked at; a literal has no others. */
function checkStage(
  option: string,
  stage: object,
  { checks, does }: { checks: { readonly [field: string]: Check }; does: string },
): void {
  const prototype: unknown = Object.getPrototypeOf(stage);
  if (prototype === Object.prototype || prototype === null) {
    checkNeeded(option, stage, { name: does, check: is.fn });
    checkFields(option, stage, checks);
  }
  const threshold: unknown = Reflect.get(stage, "threshold");
  if (threshold !== undefined && !count[1](threshold)) throw invalidOption(`${option}.threshold`, count[0], threshold);
  const method: unknown = Reflect.get(stage, does);
  if (!isFunction(method)) throw invalidOption(`${option}.${does}`, "a function", method);
}
