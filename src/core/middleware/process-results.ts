// Shortens successful results before they enter the transcript. The usage of an extraction counts for the run.

import type { ExtractedResult, ResultCacher, ResultExtractor, ResultPipeline } from "../types/policies.ts";
import type { ResultEvent } from "../types/loop-event.ts";
import type { Usage } from "../types/common.ts";
import { type Check, checkFields, type Checks, type Fields, isFunction, isText } from "../errors/check-fields.ts";
import { contentOf, renderOutcome } from "../tools/outcome-texts.ts";
import { isLiteral, isRecord } from "../utils/guards.ts";
import { countOf, readUsage, toPlainError } from "../utils/plain-error.ts";
import { estimateTokens } from "../utils/texts.ts";
import { detectContextRestart } from "../loop/restart/context-restart.ts";
import { lastUserText } from "../loop/state/transcript.ts";
import type { CallRecorder, Middleware, Outcome, RunFacts } from "../run/seam.ts";
import { askCaller } from "./ask-caller.ts";

/** The default thresholds, in estimated tokens. A stage only processes results that exceed its threshold. */
const thresholds = { extractor: 15_000, cacher: 2_000 };

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

/**
 * Processes successful results before they enter the transcript, in up to three stages. A processor changes each result, an
 * extractor condenses large ones, and a cacher stores large ones elsewhere.
 *
 * Throws LoopError "unknown-option" or "invalid-option".
 *
 * @example processResults({ processor: (tool, text) => text.trim(), cacher: createResultCache().cacher })
 */
export function processResults(given: ResultPipeline): Middleware {
  const pipeline = copyPipeline(given);
  return {
    name: "process-results",
    begin: (run) => ({
      async call(call, next, at) {
        const outcome = await next(call);
        return isEligible(outcome) ? processOutcome(outcome, pipeline, { run, at }) : outcome;
      },
    }),
  };
}

function copyPipeline(given: ResultPipeline): ResultPipeline {
  checkFields("processResults", given, pipelineChecks);
  const { processor, extractor, cacher } = given;
  if (extractor !== undefined) checkStage("processResults.extractor", extractor, extractorChecks);
  if (cacher !== undefined) checkStage("processResults.cacher", cacher, cacherChecks);
  return {
    ...(processor === undefined ? {} : { processor }),
    extractor: extractor && { threshold: extractor.threshold, extract: extractor.extract.bind(extractor) },
    cacher: cacher && { threshold: cacher.threshold, toolName: cacher.toolName, store: cacher.store.bind(cacher) },
  };
}

/** Checks only the known fields of an instance of a class, and of an object that is no stage, such as a whole cache. */
function checkStage(option: string, stage: object, checks: Fields): void {
  const known = Object.fromEntries(Object.keys(checks).map((name) => [name, Reflect.get(stage, name)]));
  const isStage = isLiteral(stage) && Object.values(known).some((field) => field !== undefined);
  checkFields(option, isStage ? stage : known, checks);
}

/**
 * True if the stages may process the result. False for errors without data and content, which the model gets unchanged, and for
 * context restarts, which have no result.
 */
function isEligible(outcome: Outcome): boolean {
  if (outcome.kind === "failed") return outcome.data !== undefined || outcome.content !== undefined;
  return outcome.kind === "completed" && detectContextRestart(outcome, undefined) === undefined;
}

const eventOf = { processor: "result-processed", extractor: "result-extracted", cacher: "result-cached" } as const;

type Stage = keyof typeof eventOf;

interface Change extends Pick<ResultEvent, "tokensBefore" | "tokensAfter"> {
  readonly stage: Stage;
}

interface Extraction {
  readonly usage: Usage;
  readonly costUSD?: number | undefined;
}

interface Processed {
  readonly text: string;
  readonly changes: readonly Change[];
  readonly extraction?: Extraction | undefined;
}

interface Ports {
  readonly run: RunFacts;
  readonly at: CallRecorder;
}

async function processOutcome(outcome: Outcome, pipeline: ResultPipeline, ports: Ports): Promise<Outcome> {
  const { at } = ports;
  let processed: Processed;
  try {
    processed = await at.step("results", () => runStages(outcome, pipeline, ports));
  } catch (error) {
    // The run was cancelled in the middle, so the result stays as it is.
    if (toPlainError(error).name === "AbortError") return outcome;
    throw error;
  }
  const { text, changes, extraction } = processed;
  for (const { stage, tokensBefore, tokensAfter } of changes) at.emit(eventOf[stage], { tokensBefore, tokensAfter });
  if (extraction !== undefined) at.spend(extraction);
  return changes.length === 0 ? outcome : { ...outcome, textForModel: text };
}

/** Passes one result through the stages. If a stage fails, the result stays as it was before that stage. */
async function runStages(outcome: Outcome, pipeline: ResultPipeline, { run, at }: Ports): Promise<Processed> {
  const toolName = outcome.call.name;
  const { processor, extractor, cacher } = pipeline;
  let text = textOf(outcome);
  let tokens = estimateTokens(text);
  let extraction: Extraction | undefined;
  const changes: Change[] = [];
  const limits = { clock: run.clock, ms: run.timeouts.hookMs, signal: at.signal };
  const ask = async (stage: Stage, call: () => unknown, read: (answer: unknown) => string | undefined): Promise<void> => {
    let answer: string | undefined;
    try {
      if (at.signal.aborted) return;
      answer = read(await askCaller(call, limits));
    } catch (error) {
      if (!at.signal.aborted) at.emit("listener-error", { event: `results.${stage}`, error: toPlainError(error) });
    }
    if (answer === undefined || answer === text) return;
    const tokensAfter = estimateTokens(answer);
    changes.push({ stage, tokensBefore: tokens, tokensAfter });
    text = answer;
    tokens = tokensAfter;
  };
  if (processor !== undefined) await ask("processor", () => processor(toolName, text), toTextOrNothing);
  if (extractor !== undefined && tokens > (extractor.threshold ?? thresholds.extractor)) {
    const facts = { toolName, userText: lastUserText(at.state.messages) };
    const read = (answer: unknown): string => {
      const { text: extracted, usage, model } = readExtract(answer);
      if (usage !== undefined) extraction = { usage, costUSD: at.price(usage, model) };
      return extracted;
    };
    await ask("extractor", () => extractor.extract(text, facts), read);
  }
  if (cacher !== undefined && tokens > (cacher.threshold ?? thresholds.cacher))
    await ask("cacher", () => cacher.store(text, { toolName }), toText);
  return { text: changes.length === 0 ? "" : text, changes, extraction };
}

/** Returns all text that the model would read: the data, and the text parts of the content. */
function textOf(outcome: Outcome): string {
  const result = renderOutcome(outcome);
  const texts = contentOf(outcome).flatMap((part) => (part.type === "text" ? [part.text] : []));
  return [typeof result === "string" ? result : JSON.stringify(result), ...texts].join("\n");
}

function readExtract(answer: unknown): ExtractedResult {
  if (typeof answer === "string") return { text: answer };
  if (!isRecord(answer) || typeof answer["text"] !== "string")
    throw new TypeError("extract() must return a string or { text, usage?, model? }.");
  const { text, usage, model } = answer;
  return usage === undefined ? { text } : { text, usage: toUsage(usage), model: toModel(model) };
}

function toUsage(given: unknown): Usage {
  const isSaid = isRecord(given) && countOf(given.inputTokens) !== undefined && countOf(given.outputTokens) !== undefined;
  if (!isSaid) throw new TypeError("The usage from extract() must have the numbers inputTokens and outputTokens.");
  return readUsage(given);
}

function toModel(given: unknown): ExtractedResult["model"] {
  if (!isRecord(given)) return undefined;
  const { provider, model } = given;
  return typeof provider === "string" && typeof model === "string" ? { provider, model } : undefined;
}

function toTextOrNothing(answer: unknown): string | undefined {
  return answer === undefined ? undefined : toText(answer);
}

function toText(answer: unknown): string {
  if (typeof answer === "string") return answer;
  throw new TypeError("The stage must return a string.");
}
