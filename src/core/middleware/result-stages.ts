// Implements the stages that shorten a result. Checks what each stage's function returns.

import type { ExtractedResult, ResultCacher, ResultExtractor, ResultPipeline } from "../types/middleware-options.ts";
import type { ResultEvent } from "../types/loop-event.ts";
import type { Usage } from "../types/common.ts";
import type { ToolOutcome } from "../types/tool-outcome.ts";
import { type Check, checkFields, type Checks, type Fields, isFunction, isText } from "../../shared/errors/check-fields.ts";
import { contentOf, renderOutcome } from "../../shared/to-outcome.ts";
import { isLiteral, isRecord } from "../../shared/guards.ts";
import { countOf, readUsage } from "../../shared/plain-error.ts";

/** The default thresholds, in estimated tokens. A stage only processes results that exceed its threshold. */
export const thresholds = { extractor: 15_000, cacher: 2_000 };

const count = { min: 0 };
const fn: Check = ["a function", isFunction];
const neededFn: Check = ["a function", isFunction, undefined, true];

const pipelineChecks: Checks<ResultPipeline> = {
  processor: fn,
  extractor: ['an object with "extract"', isRecord],
  cacher: ['an object with "store"', isRecord],
};
const extractorChecks: Checks<ResultExtractor> = { threshold: count, extract: neededFn };
const cacherChecks: Checks<ResultCacher> = { threshold: count, store: neededFn, toolName: ["a string", isText] };

/** Checks the stages, and binds their functions. `path` names the option in error messages. */
export function readPipeline(path: string, given: ResultPipeline): ResultPipeline {
  checkFields(path, given, pipelineChecks);
  const { processor, extractor, cacher } = given;
  if (extractor !== undefined) checkStage(`${path}.extractor`, extractor, extractorChecks);
  if (cacher !== undefined) checkStage(`${path}.cacher`, cacher, cacherChecks);
  return {
    ...(processor === undefined ? {} : { processor }),
    extractor: extractor && { threshold: extractor.threshold, extract: extractor.extract.bind(extractor) },
    cacher: cacher && { threshold: cacher.threshold, toolName: cacher.toolName, store: cacher.store.bind(cacher) },
  };
}

/** Checks a stage. Checks only the known fields of a class instance, or of an object that is more than a stage, such as a whole cache. */
function checkStage(option: string, stage: object, checks: Fields): void {
  const known = Object.fromEntries(Object.keys(checks).map((name) => [name, Reflect.get(stage, name)]));
  const isStage = isLiteral(stage) && Object.values(known).some((field) => field !== undefined);
  checkFields(option, isStage ? stage : known, checks);
}

export const eventOf = { processor: "result-processed", extractor: "result-extracted", cacher: "result-cached" } as const;

export type Stage = keyof typeof eventOf;

export interface Change extends Pick<ResultEvent, "tokensBefore" | "tokensAfter"> {
  readonly stage: Stage;
}

/** Returns all text that the model would read: the data, and the text parts of the content. */
export function textOf(outcome: ToolOutcome): string {
  const result = renderOutcome(outcome);
  const texts = contentOf(outcome).flatMap((part) => (part.type === "text" ? [part.text] : []));
  return [typeof result === "string" ? result : JSON.stringify(result), ...texts].join("\n");
}

export function readExtract(answer: unknown): ExtractedResult {
  if (typeof answer === "string") return { text: answer };
  if (!isRecord(answer) || typeof answer["text"] !== "string")
    throw new TypeError("extract() must return a string or { text, usage?, model? }.");
  const { text, usage, model } = answer;
  return usage === undefined ? { text } : { text, usage: toUsage(usage), model: toModel(model) };
}

function toUsage(given: unknown): Usage {
  const isSaid = isRecord(given) && countOf(given.inputTokens) !== undefined && countOf(given.outputTokens) !== undefined;
  if (!isSaid) throw new TypeError("The usage from extract() must include the numbers inputTokens and outputTokens.");
  return readUsage(given);
}

function toModel(given: unknown): ExtractedResult["model"] {
  if (!isRecord(given)) return undefined;
  const { provider, model } = given;
  return typeof provider === "string" && typeof model === "string" ? { provider, model } : undefined;
}

export function toTextOrNothing(answer: unknown): string | undefined {
  return answer === undefined ? undefined : toText(answer);
}

export function toText(answer: unknown): string {
  if (typeof answer === "string") return answer;
  throw new TypeError("A stage of processResults must return a string.");
}
