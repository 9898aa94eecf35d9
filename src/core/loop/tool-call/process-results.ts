// Shortens successful results before they enter the transcript. Each stage has a budget, and its usage counts for the run.

import type { ExtractedResult, ResultPipeline, ResultProcessing } from "../../types/policies.ts";
import {
  type Change,
  eventOf,
  readExtract,
  readPipeline,
  type Stage,
  textOf,
  thresholds,
  toText,
  toTextOrNothing,
} from "../../middleware/result-stages.ts";
import type { ResultProcessor } from "../run/run.ts";
import type { ToolOutcome } from "../../types/tool-outcome.ts";
import { estimateTokens } from "../../utils/texts.ts";
import { costOf } from "../run/pricing.ts";
import { lastUserText } from "../state/transcript.ts";
import type { SettledCall } from "../state/step-result.ts";
import { askHook } from "../run/ask-hook.ts";
import { eventBase, type Run } from "../run/run.ts";
import { runStep } from "../run/run-step.ts";
import { stepKey } from "../state/step-key.ts";

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
  const process: ResultProcessor["process"] = (run, settled) => processBatchOf(run, settled, pipeline);
  const processing: ResultProcessor = { kind: "result-processing", toolName: pipeline.cacher?.toolName, process };
  pipelines.set(process, pipeline);
  return processing;
}

/** The stages of each processing, for the tests of the new core. */
export const pipelines: WeakMap<ResultProcessor["process"], ResultPipeline> = new WeakMap();

interface Processed extends Pick<SettledCall, "textForModel" | "extraction"> {
  readonly index: number;
  readonly changes: readonly Change[];
}

function processBatchOf(
  run: Run,
  settled: readonly SettledCall[],
  pipeline: ResultPipeline,
): readonly SettledCall[] | PromiseLike<readonly SettledCall[]> {
  if (!isDue(settled)) return settled;
  const body = (): Promise<readonly Processed[]> => processBatch(run, settled, pipeline);
  const step = { key: stepKey(run.state, "results"), kind: "results" as const, input: null, run: body };
  return runStep(step, run, (processed, live) => mergeProcessed(run, settled, { processed, live }));
}

/** True if all results of the batch have arrived, so that they can be processed. */
function isDue(settled: readonly SettledCall[]): boolean {
  return (
    settled.some(isEligible) && settled.every(({ suspended, awaiting }) => suspended === undefined && awaiting === undefined)
  );
}

/**
 * True if the stages may process the result. False for errors without data and content, which the model gets unchanged, and for
 * context restarts, which have no result.
 */
function isEligible({ outcome, restart }: SettledCall): boolean {
  if (outcome.kind === "failed") return outcome.data !== undefined || outcome.content !== undefined;
  return outcome.kind === "completed" && restart === undefined;
}

async function processBatch(run: Run, settled: readonly SettledCall[], pipeline: ResultPipeline): Promise<readonly Processed[]> {
  const processed: Processed[] = [];
  for (const [index, call] of settled.entries()) {
    if (!isEligible(call)) continue;
    const { textForModel, changes, extraction } = await processResult(run, call.outcome, pipeline);
    if (changes.length > 0 || extraction !== undefined) processed.push({ index, textForModel, changes, extraction });
  }
  return processed;
}

/**
 * Passes one result through the stages. If a stage fails, or is interrupted by the end of the run, the result stays as it was
 * before that stage.
 */
async function processResult(run: Run, outcome: ToolOutcome, pipeline: ResultPipeline): Promise<Omit<Processed, "index">> {
  const toolName = outcome.call.name;
  const { extractor, cacher } = pipeline;
  let text = textOf(outcome);
  let tokens = estimateTokens(text);
  let extraction: SettledCall["extraction"];
  const changes: Change[] = [];
  const ask = async (stage: Stage, call: () => unknown, read: (answer: unknown) => string | undefined): Promise<void> => {
    const end = await askHook(call, read, run);
    if (end.kind === "failed") {
      run.events.send({ type: "listener-error", ...eventBase(run), event: `results.${stage}`, error: end.error });
    }
    const answer = end.kind === "value" ? end.value : undefined;
    if (answer === undefined || answer === text) return;
    const tokensAfter = estimateTokens(answer);
    changes.push({ stage, tokensBefore: tokens, tokensAfter });
    text = answer;
    tokens = tokensAfter;
  };
  if (pipeline.processor !== undefined) {
    await ask("processor", () => pipeline.processor?.(toolName, text), toTextOrNothing);
  }
  if (extractor !== undefined && tokens > (extractor.threshold ?? thresholds.extractor)) {
    const facts = { toolName, userText: lastUserText(run.state.messages) };
    const read = (answer: unknown): string => {
      const extract = readExtract(answer);
      extraction = priceExtract(run, extract);
      return extract.text;
    };
    await ask("extractor", () => extractor.extract(text, facts), read);
  }
  if (cacher !== undefined && tokens > (cacher.threshold ?? thresholds.cacher)) {
    await ask("cacher", () => cacher.store(text, { toolName }), toText);
  }
  return { textForModel: changes.length === 0 ? undefined : text, changes, extraction };
}

function priceExtract({ options, events, state }: Run, { usage, model }: ExtractedResult): SettledCall["extraction"] {
  if (usage === undefined) return undefined;
  const by = model ?? { provider: options.provider.id, model: options.provider.model };
  const cost = costOf(usage, { ...by, iteration: state.iteration }, { pricing: options.pricing, events });
  return { usage, costUSD: typeof cost === "number" ? cost : undefined };
}

interface Recorded {
  readonly processed: readonly Processed[];
  readonly live: boolean;
}

/** Adds the usage of the extractions to this run and its outer runs. */
function mergeProcessed(run: Run, settled: readonly SettledCall[], { processed, live }: Recorded): readonly SettledCall[] {
  const base = eventBase(run, live);
  const merged = [...settled];
  for (const { index, textForModel, changes, extraction } of processed) {
    const call = settled[index];
    if (call === undefined) continue;
    const { callId, name } = call.outcome.call;
    for (const { stage, tokensBefore, tokensAfter } of changes) {
      run.events.send({ type: eventOf[stage], ...base, callId, name, index, tokensBefore, tokensAfter });
    }
    if (extraction !== undefined) run.meter.addUsage(extraction);
    merged[index] = { ...call, textForModel, extraction };
  }
  return merged;
}
