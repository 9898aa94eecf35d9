// Shortens successful results before they enter the transcript. Tokens used by an extraction count toward the run's usage.

import type { ResultPipeline } from "../types/middleware-options.ts";
import type { Usage } from "../types/common.ts";
import { LoopError } from "../../shared/errors/loop-error.ts";
import { toPlainError } from "../../shared/plain-error.ts";
import { estimateTokens } from "../../shared/estimate-tokens.ts";
import { detectContextRestart } from "../loop/context-restart.ts";
import { addSpending, priceUsage } from "../loop/middleware-tools.ts";
import { listTools } from "../../shared/list-tools.ts";
import { lastUserText } from "../../shared/transcript.ts";
import type { CallRecorder, Middleware, Outcome, RunFacts } from "../types/middleware.ts";
import { askCaller } from "../../shared/ask-caller.ts";
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
} from "./result-stages.ts";

/**
 * Processes successful results before they enter the transcript, in up to three stages. A processor changes each result, an
 * extractor condenses large ones, and a cacher stores large ones elsewhere.
 *
 * Throws LoopError "unknown-option" or "invalid-option" if an option is invalid.
 *
 * @example processResults({ processor: (tool, text) => text.trim(), cacher: createResultCache().cacher })
 */
export function processResults(given: ResultPipeline): Middleware {
  const pipeline = readPipeline("processResults", given);
  return {
    name: "process-results",
    begin: (run) => {
      checkTool(pipeline.cacher?.toolName, run);
      return {
        async call(call, next, at) {
          const outcome = await next(call);
          return isEligible(outcome) ? processOutcome(outcome, pipeline, { run, at }) : outcome;
        },
      };
    },
  };
}

/** Checks that the run has the tool named in the option, unless a registry may add it later. */
function checkTool(toolName: string | undefined, { options }: RunFacts): void {
  const tools = listTools(options);
  if (toolName === undefined || tools === undefined || tools.some(({ name }) => name === toolName)) return;
  const expected = 'an array that includes it because processResults uses it as its "cacher"';
  throw new LoopError("invalid-option", { option: "tools", expected, received: `an array without the tool "${toolName}"` });
}

/**
 * True if the stages may process the result. False for errors without data and content, which the model receives unchanged, and for
 * context restarts, which have no result.
 */
function isEligible(outcome: Outcome): boolean {
  if (outcome.kind === "failed") return outcome.data !== undefined || outcome.content !== undefined;
  return outcome.kind === "completed" && detectContextRestart(outcome, undefined) === undefined;
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
  // A handoff's outcome is not final yet, because other middleware may still refuse it.
  if (outcome.kind !== "completed" || outcome.handoff === undefined) at.end(outcome);
  const { text, changes, extraction } = await at.step("results", () => runStages(outcome, pipeline, ports));
  for (const { stage, tokensBefore, tokensAfter } of changes) at.emit(eventOf[stage], { tokensBefore, tokensAfter });
  if (extraction !== undefined) addSpending(at, extraction);
  return changes.length === 0 ? outcome : { ...outcome, textForModel: text };
}

/** Passes a result through the stages. If a stage fails, continues with the result as it was before that stage. */
async function runStages(outcome: Outcome, pipeline: ResultPipeline, { run, at }: Ports): Promise<Processed> {
  const toolName = outcome.call.name;
  const { processor, extractor, cacher } = pipeline;
  let text = textOf(outcome);
  let tokens = estimateTokens(text);
  let extraction: Extraction | undefined;
  const changes: Change[] = [];
  const limits = { clock: run.clock, ms: run.timeouts.callbackMs, signal: at.signal };
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
      if (usage !== undefined) extraction = { usage, costUSD: priceUsage(at, usage, model) };
      return extracted;
    };
    await ask("extractor", () => extractor.extract(text, facts), read);
  }
  if (cacher !== undefined && tokens > (cacher.threshold ?? thresholds.cacher))
    await ask("cacher", () => cacher.store(text, { toolName }), toText);
  return { text: changes.length === 0 ? "" : text, changes, extraction };
}
