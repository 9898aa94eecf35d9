// What is made of successful results before they enter the transcript: one step per batch, the calls in their order, and for each call one
// stage after the other.

import type { ResultEvent } from "../contract/loop-event.ts";
import type { ResultPipeline } from "../contract/results.ts";
import type { ToolCall } from "../contract/tool-outcome.ts";
import { estimateTokens } from "../kit/estimate-tokens.ts";
import { whenReady } from "../kit/when-ready.ts";
import { costOf } from "../stages/stream-once.ts";
import { lastUserText } from "../state/last-user-text.ts";
import type { SettledCall } from "../state/loop-state.ts";
import { renderOutcome } from "../tools/render-outcome.ts";
import { askHook } from "./ask-hook.ts";
import { readExtract } from "./read-extract.ts";
import type { Run } from "./run.ts";
import { runStep } from "./run-step.ts";
import { stepKey } from "./step-key.ts";

/** The stages, and how each tells that it has changed a result. */
const eventOf = { processor: "result-processed", extractor: "result-extracted", cacher: "result-cached" } as const;

type Stage = keyof typeof eventOf;

/** Results of more tokens than this go through the stage. */
const thresholds = { extractor: 15_000, cacher: 2_000 };

/** One change of one result. */
interface Change extends Pick<ResultEvent, "tokensBefore" | "tokensAfter"> {
  readonly stage: Stage;
}

/** What the step of a batch keeps of each call whose result has changed or cost something. Plain data. */
interface Processed extends Pick<SettledCall, "reading" | "extraction"> {
  /** Position of the call in the batch. */
  readonly index: number;
  readonly changes: readonly Change[];
}

/** Runs the pipeline over a batch, or recalls what came of it. */
export function processResults(
  run: Run,
  settled: readonly SettledCall[],
): readonly SettledCall[] | PromiseLike<readonly SettledCall[]> {
  const pipeline = run.options.policies?.results;
  if (pipeline === undefined || !isDue(settled)) return settled;
  let live = false;
  const body = (): Promise<readonly Processed[]> => {
    live = true;
    run.replayed = false;
    return processBatch(run, settled, pipeline);
  };
  const step = { key: stepKey(run.state, "results"), kind: "results" as const, input: null, run: body };
  return whenReady(runStep(step, run), (processed) => {
    if (!live) tellAgain(run, settled, processed);
    return mergeProcessed(run, settled, processed);
  });
}

/** A batch that is suspended is looked at once all of its results are there. */
function isDue(settled: readonly SettledCall[]): boolean {
  return settled.some(isEligible) && settled.every(({ suspended, awaiting }) => suspended === undefined && awaiting !== true);
}

/** Errors are for the model to read as they are, and a restart leaves no result. */
function isEligible({ outcome, restart }: SettledCall): boolean {
  return outcome.kind === "completed" && restart === undefined;
}

async function processBatch(run: Run, settled: readonly SettledCall[], pipeline: ResultPipeline): Promise<readonly Processed[]> {
  const processed: Processed[] = [];
  for (const [index, call] of settled.entries()) {
    if (!isEligible(call)) continue;
    const work = new ResultWork(run, call);
    await work.process(pipeline);
    const { reading, changes, extraction } = work;
    if (changes.length > 0 || extraction !== undefined) processed.push({ index, reading, changes, extraction });
  }
  return processed;
}

/** One result on its way through the stages. */
class ResultWork {
  readonly #run: Run;
  readonly #call: ToolCall;
  #text: string;
  #tokens: number;
  readonly changes: Change[] = [];
  extraction: SettledCall["extraction"];

  constructor(run: Run, { outcome }: SettledCall) {
    const result = renderOutcome(outcome);
    this.#run = run;
    this.#call = outcome.call;
    this.#text = typeof result === "string" ? result : JSON.stringify(result);
    this.#tokens = estimateTokens(this.#text);
  }

  /** Undefined where the result is as it was. */
  get reading(): string | undefined {
    return this.changes.length === 0 ? undefined : this.#text;
  }

  async process(pipeline: ResultPipeline): Promise<void> {
    const toolName = this.#call.name;
    const { extractor, cacher } = pipeline;
    if (pipeline.processor !== undefined) {
      await this.#ask("processor", () => pipeline.processor?.(toolName, this.#text), toTextOrNothing);
    }
    if (extractor !== undefined && this.#tokens > (extractor.threshold ?? thresholds.extractor)) {
      const facts = { toolName, userText: lastUserText(this.#run.state.messages) };
      await this.#ask(
        "extractor",
        () => extractor.extract(this.#text, facts),
        (answer) => this.#readExtract(answer),
      );
    }
    if (cacher !== undefined && this.#tokens > (cacher.threshold ?? thresholds.cacher)) {
      await this.#ask("cacher", () => cacher.store(this.#text, { toolName }), toText);
    }
  }

  /** A stage that fails, or that the end of the run cuts off, leaves the result as it was. */
  async #ask(stage: Stage, call: () => unknown, read: (answer: unknown) => string | undefined): Promise<void> {
    const end = await askHook(call, read, this.#run);
    if (end.kind === "failed") {
      const { events, state } = this.#run;
      const base = { runId: events.runId, iteration: state.iteration };
      events.send({ type: "listener-error", ...base, event: `results.${stage}`, error: end.error });
    }
    if (end.kind !== "value" || end.value === undefined || end.value === this.#text) return;
    const tokensBefore = this.#tokens;
    this.#text = end.value;
    this.#tokens = estimateTokens(end.value);
    const change = { stage, tokensBefore, tokensAfter: this.#tokens };
    this.changes.push(change);
    sendChange(this.#run, this.#call, { change, live: true });
  }

  #readExtract(answer: unknown): string {
    const { options, events, state } = this.#run;
    const { text, usage, model } = readExtract(answer);
    if (usage === undefined) return text;
    const by = model ?? { provider: options.provider.id, model: options.provider.model };
    const costUSD = costOf(usage, { ...by, iteration: state.iteration }, { pricing: options.pricing, events });
    this.extraction = { usage, costUSD };
    return text;
  }
}

function toTextOrNothing(answer: unknown): string | undefined {
  return answer === undefined ? undefined : toText(answer);
}

function toText(answer: unknown): string {
  if (typeof answer === "string") return answer;
  throw new TypeError("It gave no text.");
}

function sendChange(
  { events, state }: Run,
  { callId, name }: ToolCall,
  { change, live }: { change: Change; live: boolean },
): void {
  const { stage, tokensBefore, tokensAfter } = change;
  const base = { runId: events.runId, iteration: state.iteration, replayed: live ? undefined : true };
  events.send({ type: eventOf[stage], ...base, callId, name, tokensBefore, tokensAfter });
}

function tellAgain(run: Run, settled: readonly SettledCall[], processed: readonly Processed[]): void {
  for (const { index, changes } of processed) {
    const call = settled[index]?.outcome.call;
    if (call !== undefined) for (const change of changes) sendChange(run, call, { change, live: false });
  }
}

/** The batch as it is folded. What was spent counts now, for the runs around this one too. */
function mergeProcessed(run: Run, settled: readonly SettledCall[], processed: readonly Processed[]): readonly SettledCall[] {
  const merged = [...settled];
  for (const { index, reading, extraction } of processed) {
    const call = settled[index];
    if (call === undefined) continue;
    if (extraction !== undefined) {
      const { usage, costUSD } = extraction;
      run.meter.add({ tokens: usage.totalTokens, costUSD, costUnknown: costUSD === undefined });
    }
    merged[index] = { ...call, reading, extraction };
  }
  return merged;
}
