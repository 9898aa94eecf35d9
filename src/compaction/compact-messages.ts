import {
  assertProvider,
  checkFields,
  type Checks,
  type CompactedMessages,
  type Compaction,
  type CompactionAnswer,
  type Compactor,
  invalidOption,
  is,
  isFunction,
  isRecord,
  isWithin,
  type Message,
  numberWithin,
  type PlainError,
  type Provider,
  type Run,
  toCompacted,
  toPlainError,
} from "../core/entry-kit.ts";
import { estimateJson, estimateMessages } from "./estimate-messages.ts";
import { type Cut, findCut } from "./find-cut.ts";
import { type Spending, toError, writeSummary } from "./write-summary.ts";

/** The options of `compactMessages`. */
export interface CompactionOptions {
  /**
   * The size of the context from which old messages are summarized: a share of the context window (up to 1), or a number of
   * tokens (above 1). Measured before each request, from the reported usage of the last request and an estimate of the newer
   * messages. Default 0.8.
   */
  readonly when?: number | undefined;
  /**
   * The size of the latest messages that stay as they are: a share of the context window (up to 1), or a number of tokens (above
   * 1). Must be smaller than `when`. Default 0.1.
   */
  readonly keep?: number | undefined;
  /**
   * The size of the context window in tokens, or a function that returns it for a provider and a model, such as
   * `genaiContextWindow()` from `turnwright/prices`. Without it, shares cannot be computed. Messages are then summarized only
   * after the service has refused a request as too long. Default: unknown.
   */
  readonly contextWindow?: number | ((provider: string, model: string) => number | undefined) | undefined;
  /** How the summary is written. Default: by the provider of the run. */
  readonly summarise?: SummaryOptions | undefined;
  /**
   * Set to false to write summaries here, even if the service can write them itself (`Provider.compacts`). Default true.
   */
  readonly native?: boolean | undefined;
}

/** How `compactMessages` writes a summary. */
export interface SummaryOptions {
  /** The provider that writes the summary. Default: the provider of the run. */
  readonly provider?: Provider | undefined;
  /** The maximum number of tokens in a summary. Default 4,000. */
  readonly maxOutputTokens?: number | undefined;
  /** The maximum cost of one compaction in USD, as computed by the option `pricing` of the run. Default: no limit. */
  readonly maxCostUSD?: number | undefined;
  /** More instructions for the model, in addition to the built-in ones. Default: none. */
  readonly instructions?: string | undefined;
}

const size: readonly [string, (value: unknown) => boolean] = [
  "a share of the context window above 0 and up to 1, or a number of tokens above 1",
  (value) => isWithin(value, { min: 0, fraction: true, infinite: false }) && value > 0,
];

const checks: Checks<CompactionOptions> = {
  when: size,
  keep: size,
  contextWindow: [
    "a number of tokens, or a function",
    (value) => isFunction(value) || isWithin(value, { min: 1, infinite: false }),
  ],
  summarise: ["an object", isRecord],
  native: is.flag,
};

const summaryChecks: Checks<SummaryOptions> = {
  provider: ["a provider", isRecord],
  maxOutputTokens: numberWithin({ min: 1, infinite: false }),
  maxCostUSD: numberWithin({ min: 0, fraction: true }),
  instructions: is.text,
};

interface Settings extends CompactionOptions {
  readonly when: number;
  readonly keep: number;
  readonly summarise: SummaryOptions & { readonly maxOutputTokens: number; readonly maxCostUSD: number };
}

/**
 * Summarizes old messages when the context is nearly full, and once after the service has refused a request as too long. Requests
 * then have the summary in place of these messages. The transcript and the journal keep all messages.
 *
 * These parts of a request never change: the system text, pinned messages, the last message of the user, calls that wait, and
 * the latest messages up to `keep`. A call and its result stay together. The summary is a step of the journal, and its usage and
 * cost count towards the limits of the run. A long conversation is summarized in parts, so that these requests are not too long.
 * If the summary fails or is not shorter, requests stay as they were. The events are `compaction-start` and `compaction-end`.
 *
 * Throws LoopError "unknown-option" or "invalid-option".
 *
 * @example
 * const compaction = compactMessages({ when: 0.8, contextWindow: genaiContextWindow() });
 * await runToolLoop({ provider, tools, messages, policies: { compaction } });
 */
export function compactMessages(options: CompactionOptions = {}): Compaction {
  return createCompactor(readOptions(options), undefined);
}

function readOptions(options: CompactionOptions): Settings {
  checkFields("policies.compaction", options, checks);
  const { when = 0.8, keep = 0.1, contextWindow, summarise = {}, native } = options;
  checkFields("policies.compaction.summarise", summarise, summaryChecks);
  if (summarise.provider !== undefined) assertProvider("policies.compaction.summarise.provider", summarise.provider);
  if (isShare(when) === isShare(keep) && keep >= when)
    throw invalidOption("policies.compaction.keep", "smaller than `when`", keep);
  const { maxOutputTokens = 4_000, maxCostUSD = Number.POSITIVE_INFINITY } = summarise;
  return { when, keep, contextWindow, summarise: { ...summarise, maxOutputTokens, maxCostUSD }, native };
}

function createCompactor(settings: Settings, earlier: CompactedMessages | undefined): Compactor {
  return Object.freeze<Compactor>({
    kind: "compaction",
    earlierOf: (messages) => (earlier === undefined ? undefined : checkFit(earlier, messages)),
    startWith: (found) =>
      found === undefined ? createCompactor(settings, earlier) : createCompactor(settings, checkEarlier(found)),
    isDue: (run) => isDue(run, settings),
    compact: (run) => compact(run, settings),
    thresholdFor: (provider) =>
      isNative(provider, settings) ? toTokens(settings.when, windowOf(settings, provider)) : undefined,
  });
}

function checkEarlier(given: CompactedMessages): CompactedMessages {
  const { summary, count, kept } = given;
  const isFit = typeof summary === "string" && isWithin(count, { min: 0, infinite: false }) && Array.isArray(kept);
  if (!isFit || !kept.every((index) => isWithin(index, { min: 0, max: count - 1 }))) {
    throw invalidOption("policies.compaction.startWith()", "the `compaction` of a result", given);
  }
  return Object.freeze({ summary, count, kept: Object.freeze([...kept]) });
}

/** A kept result without its call, or a result directly after the summary, would make each request invalid. */
function checkFit(earlier: CompactedMessages, messages: readonly Message[]): CompactedMessages {
  const { count, kept } = earlier;
  const isFit =
    count <= messages.length && messages[count]?.role !== "tool" && kept.every((index) => messages[index]?.role === "user");
  if (isFit) return earlier;
  throw invalidOption("policies.compaction.startWith()", "the `compaction` of an earlier run whose messages come first", earlier);
}

function isNative({ compacts }: Provider, { native }: Settings): boolean {
  return compacts === true && native !== false;
}

function isShare(value: number): boolean {
  return value <= 1;
}

/** Returns a number of tokens. Undefined for a share of an unknown window. */
function toTokens(value: number, window: number | undefined): number | undefined {
  if (!isShare(value)) return value;
  return window === undefined ? undefined : Math.floor(value * window);
}

function windowOf({ contextWindow }: Settings, { id, model }: Provider): number | undefined {
  const window = typeof contextWindow === "function" ? contextWindow(id, model) : contextWindow;
  return isWithin(window, { min: 1, infinite: false }) ? window : undefined;
}

/** A compaction must at least free this share of `when`. Each one breaks the prompt cache, so small ones are not worth it. */
const leastFreed = 0.1;

/** After a failure, the context must grow by this factor before the next attempt. */
const growthAfterFailure = 1.1;

function isDue(run: Run, settings: Settings): boolean {
  const { provider } = run.options;
  const limit = toTokens(settings.when, windowOf(settings, provider));
  if (limit === undefined || isNative(provider, settings)) return false;
  const tokens = contextTokens(run);
  const failed = run.state.lastCompaction?.answer;
  const floor = failed?.kind === "failed" ? Math.max(limit, failed.tokensBefore * growthAfterFailure) : limit;
  if (tokens < floor) return false;
  const cut = cutOf(run, settings, tokens);
  return cut !== undefined && cut.tokens >= limit * leastFreed;
}

function cutOf(run: Run, settings: Settings, tokens: number): Cut | undefined {
  const keepTokens = toTokens(settings.keep, windowOf(settings, run.options.provider)) ?? Math.floor(tokens * settings.keep);
  return findCut(sentMessages(run), { keepTokens: isRefusedAgain(run) ? 0 : keepTokens, earlier: run.state.compaction });
}

/** True if the service refused a request that was already compacted. As little as possible is then kept. */
function isRefusedAgain({ state: { lastInbox, lastCompaction, streamResults } }: Run): boolean {
  return lastInbox?.compact === "forced" && lastCompaction?.streams === streamResults.length - 1;
}

/** The messages of the next request before the compaction, without results that are masked. */
function sentMessages({ view, state }: Run): readonly Message[] {
  if (view === undefined) return state.messages;
  return [...view.messages, ...state.messages.slice(view.messages.length)];
}

/** The messages of the next request if there is no further compaction. */
function shownMessages(run: Run): readonly Message[] {
  const { compaction } = run.state;
  return compaction === undefined ? sentMessages(run) : toCompacted(sentMessages(run), compaction);
}

/**
 * Returns the tokens of the next request. The service has reported the tokens of the last request and its answer. Everything newer
 * is estimated, and everything is estimated if there is no such report, or if messages were summarized after it.
 */
function contextTokens(run: Run): number {
  const { state, options, visibleTools } = run;
  const last = state.lastCompaction?.streams === state.streamResults.length ? undefined : state.streamResults.at(-1)?.usage;
  const messages = sentMessages(run);
  if (last !== undefined && last.inputTokens > 0) {
    const answer = messages.findLastIndex(({ role }) => role === "assistant");
    return last.inputTokens + last.outputTokens + estimateMessages(messages.slice(answer + 1));
  }
  return estimateJson(options.system ?? "") + estimateJson(visibleTools.source) + estimateMessages(shownMessages(run));
}

async function compact(run: Run, settings: Settings): Promise<CompactionAnswer> {
  const { compaction } = run.state;
  const messages = sentMessages(run);
  const shown = shownMessages(run);
  const tokensBefore = contextTokens(run);
  const fail = (error: PlainError, spending?: Spending): CompactionAnswer => {
    return { kind: "failed", tokensBefore, tokensAfter: tokensBefore, spending, error };
  };
  try {
    const cut = cutOf(run, settings, tokensBefore);
    if (cut === undefined) return fail(toError("There are no messages to summarize."));
    const provider = settings.summarise.provider ?? run.options.provider;
    const partTokens = partTokensFor(run, { ...settings, provider, tokensBefore });
    const replaced = cut.replaced.flatMap((index) => messages[index] ?? []);
    const written = await writeSummary(replaced, compaction?.summary, { ...settings.summarise, run, provider, partTokens });
    const { spending } = written;
    if (written.summary === undefined) return fail(written.error, spending);
    const made = { summary: written.summary, count: cut.count, kept: cut.kept };
    const freed = estimateMessages(shown) - estimateMessages(toCompacted(messages, made));
    if (freed <= 0) return fail(toError("The summary is not shorter than the messages that it would replace."), spending);
    return { kind: "compacted", tokensBefore, tokensAfter: Math.max(0, tokensBefore - freed), spending, compaction: made };
  } catch (error) {
    return fail(toPlainError(error));
  }
}

interface PartFacts extends Settings {
  readonly provider: Provider;
  readonly tokensBefore: number;
}

/**
 * Returns the tokens of the conversation in one request for a summary. Estimates are often too low, so half of a known window
 * stays free. Without a known window, the size of the last request is a measure: the service accepted it, or refused it.
 */
function partTokensFor({ state }: Run, facts: PartFacts): number {
  const window = windowOf(facts, facts.provider);
  const isRefused = state.lastInbox?.compact === "forced";
  const room =
    window === undefined
      ? Math.floor(facts.tokensBefore / (isRefused ? 4 : 1))
      : Math.floor(window / 2) - 2 * facts.summarise.maxOutputTokens;
  return Math.max(1_000, room);
}
