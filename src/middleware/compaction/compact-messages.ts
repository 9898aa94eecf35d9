// Replaces old messages with a summary. Never separates a call from its result and never replaces a waiting call, because services would
// refuse the request.

import { providerCheck } from "../../shared/errors/provider-checks.ts";
import { checkFields, type Checks, invalidOption, is, isCompaction, memoize } from "../../core/kit.ts";
import type { CompactedMessages, CompactionAnswer } from "../../core/types/middleware-options.ts";
import { fitsMessages, toCompacted } from "../../shared/transcript.ts";
import { isFunction, isWithin } from "../../shared/errors/check-fields.ts";
import type { ContentPart, Message, Middleware, PlainError, Provider, UserMessage } from "../../core/index.ts";
import { toPlainError } from "../../shared/plain-error.ts";
import { estimateMedia, estimateMetadata } from "../../shared/estimate-media.ts";
import { estimateTokens } from "../../shared/estimate-tokens.ts";
import { malformedNote, misfitNote, warnOfLoop } from "../../shared/model-notes.ts";
import { compactWith, type CompactionFacts, type FilteredMessages, type SummaryFacts } from "./middleware.ts";
import { toError, writeSummary } from "./write-summary.ts";

/** Replaces old messages in requests with a summary. Created by `compactMessages` from `turnwright/middleware`. */
export interface Compaction extends Middleware {
  /**
   * Returns middleware that uses the summary in `earlier` starting with the first request. Pass the `compaction` from the
   * result of an earlier run in the same conversation. Returns the middleware unchanged for `undefined`.
   */
  startWith(earlier: CompactedMessages | undefined): Compaction;
}

export interface CutRules {
  readonly keepTokens: number;
  /**
   * The last message is kept, together with the calls that it answers, if it has at most this many estimated tokens. Default: it is always
   * kept.
   */
  readonly keepLastTokens?: number | undefined;
  readonly earlier: CompactedMessages | undefined;
  /** The minimum number of messages that the summary replaces. Default: no minimum. */
  readonly minCount?: number | undefined;
  /** True if a user message may stay next to the summary. Default: every user message may. */
  readonly mayStay?: ((index: number) => boolean) | undefined;
}

export interface Cut extends Omit<CompactedMessages, "summary"> {
  /** The indexes of the messages that the new summary replaces, except those that the earlier summary already replaces. */
  readonly replaced: readonly number[];
  readonly tokens: number;
}

function findCut(messages: readonly Message[], rules: CutRules): Cut | undefined {
  const { earlier, minCount = 0, mayStay = () => true } = rules;
  const found = findCount(messages, rules);
  const before = earlier?.count ?? 0;
  if (found <= before) return undefined;
  const count = Math.max(found, minCount);
  const lastUser = messages.findLastIndex((message) => message.role === "user" && !isNoteOfLoop(message));
  const isKept = (index: number): boolean => {
    const message = messages[index];
    return message?.role === "user" && (message.pinned === true || index === lastUser) && mayStay(index);
  };
  // `earlier.kept` includes the user message that was newest at the earlier cut. If there is a newer one now, the older one becomes part of
  // the new summary.
  const shown = [...(earlier?.kept ?? []), ...range(before, count)];
  const kept = shown.filter(isKept);
  const replaced = shown.filter((index) => !isKept(index));
  const tokens = estimateMessages(replaced.flatMap((index) => messages[index] ?? []));
  return replaced.length === 0 ? undefined : { count, kept, replaced, tokens };
}

function findCount(messages: readonly Message[], { keepTokens, keepLastTokens = Number.POSITIVE_INFINITY }: CutRules): number {
  let count = messages.length;
  let tokens = 0;
  for (let index = messages.length - 1; index >= 0; index -= 1) {
    const message = messages[index];
    if (message === undefined) continue;
    tokens += estimateMessage(message);
    const isLast = index === messages.length - 1;
    if (tokens > (isLast ? Math.max(keepTokens, keepLastTokens) : keepTokens)) break;
    count = index;
  }
  const waiting = messages.findIndex(isWaiting);
  return toBoundary(messages, waiting === -1 ? count : Math.min(count, waiting));
}

/** Moves the cut back, so that it does not separate calls from their results. */
function toBoundary(messages: readonly Message[], count: number): number {
  let boundary = count;
  while (boundary > 0 && messages[boundary]?.role === "tool") boundary -= 1;
  return boundary;
}

function isWaiting(message: Message): boolean {
  return message.role === "tool" && message.results.some(({ outcome }) => outcome.startsWith("awaiting-"));
}

function isNoteOfLoop({ content }: UserMessage): boolean {
  if (typeof content !== "string") return false;
  const count = Number(/\d+/.exec(content)?.[0]);
  return content === malformedNote || content === warnOfLoop(count) || isComplaint(content);
}

/** True if the loop wrote this message about an invalid answer. A user's message may begin in the same way, so the end is compared too. */
function isComplaint(text: string): boolean {
  return text.startsWith(misfitNote.start) && text.endsWith(misfitNote.end);
}

function range(from: number, to: number): readonly number[] {
  return Array.from({ length: to - from }, (_, index) => from + index);
}

const estimateMessage: (message: Message) => number = /* @__PURE__ */ memoize((message: Message): number => {
  switch (message.role) {
    case "user":
      return typeof message.content === "string" ? estimateTokens(message.content) : estimateParts(message.content);
    case "assistant": {
      const { providerMetadata, content } = message;
      return providerMetadata === undefined ? estimateJson(content) : estimateMetadata(providerMetadata.map(({ item }) => item));
    }
    case "tool":
      return message.results.reduce((sum, { result, content = [] }) => sum + estimateJson(result) + estimateParts(content), 0);
  }
});

function estimateMessages(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + estimateMessage(message), 0);
}

function estimateJson(value: unknown): number {
  return estimateTokens(typeof value === "string" ? value : JSON.stringify(value));
}

function estimateParts(parts: readonly ContentPart[]): number {
  return parts.reduce((sum, part) => sum + estimatePart(part), 0);
}

function estimatePart(part: ContentPart): number {
  return part.type === "text" ? estimateTokens(part.text) : estimateMedia(part);
}

/** The options for `compactMessages`. */
export interface CompactionOptions {
  /**
   * Old messages are summarized when the context reaches this size: a share of the context window (up to 1), or a number of tokens (above
   * 1). The size is the usage that the service reported for the previous request, plus an estimate for the newer messages. Default 0.8.
   */
  readonly when?: number | undefined;
  /**
   * The latest messages stay unchanged up to this size: a share of the context window (up to 1), or a number of tokens (above 1). Must be
   * smaller than `when`. Default 0.1.
   */
  readonly keep?: number | undefined;
  /**
   * The size of the context window in tokens, or a function that returns it for a provider and a model, such as
   * `genaiContextWindow()` from `turnwright/prices`. Without it, shares cannot be computed. Messages are then summarized only
   * after the service has refused a request as too long. Default: unknown.
   */
  readonly contextWindow?: number | ((provider: string, model: string) => number | undefined) | undefined;
  /** How summaries are written. Default: by the run's provider. */
  readonly summarize?: SummaryOptions | undefined;
  /**
   * Set to false to let turnwright write the summaries, even if the service can write them itself (`Provider.compacts`). Default
   * true.
   */
  readonly native?: boolean | undefined;
}

/** How `compactMessages` writes a summary. */
export interface SummaryOptions {
  /** The provider that writes the summary. Default: the run's provider. */
  readonly provider?: Provider | undefined;
  /** The maximum number of tokens that the model writes in one summary request. Default 4,000. */
  readonly maxOutputTokens?: number | undefined;
  /** The maximum cost of one compaction in USD, as computed by the run's `pricing` option. Default: no limit. */
  readonly maxCostUSD?: number | undefined;
  /** More instructions for the model, in addition to the built-in ones. Default: none. */
  readonly instructions?: string | undefined;
}

const size: readonly [string, (value: unknown) => boolean] = [
  "a share of the context window above 0 and up to 1, or a number of tokens above 1",
  (value) => isWithin(value, { min: 0, fraction: true, infinite: false }) && value > 0,
];

const summaryChecks: Checks<SummaryOptions> = {
  provider: providerCheck,
  maxOutputTokens: { min: 1, infinite: false },
  maxCostUSD: { min: 0, fraction: true },
  instructions: is.text,
};

const checks: Checks<CompactionOptions> = {
  when: size,
  keep: size,
  contextWindow: [
    "a number of tokens, or a function",
    (value) => isFunction(value) || isWithin(value, { min: 1, infinite: false }),
  ],
  summarize: summaryChecks,
  native: is.flag,
};

interface Settings extends CompactionOptions {
  readonly when: number;
  readonly keep: number;
  readonly summarize: SummaryOptions;
}

/**
 * Summarizes old messages when the context is nearly full, and once after the service has refused a request as too long. Later requests
 * contain the summary in place of the old messages. The transcript and the journal keep all messages.
 *
 * A summary never replaces the system text, pinned messages, the user's last message, waiting calls, or the latest messages up to `keep`.
 * A call and its result stay together. The summary is a journal step, and its usage and cost count toward the run's limits. A
 * long conversation is summarized in parts, so that no summary request is too long. If the summary fails, or is not shorter than the
 * old messages, requests keep the old messages. The events are `compaction-start` and `compaction-end`.
 *
 * Throws LoopError "unknown-option" or "invalid-option".
 *
 * @example
 * const compaction = compactMessages({ when: 0.8, contextWindow: genaiContextWindow() });
 * await runToolLoop({ provider, tools, messages, middleware: [compaction] });
 */
export function compactMessages(options: CompactionOptions = {}): Compaction {
  return createCompactor(readOptions(options), undefined);
}

function readOptions(options: CompactionOptions): Settings {
  checkFields("compactMessages", options, checks);
  const { when = 0.8, keep = 0.1, contextWindow, summarize = {}, native } = options;
  if (isShare(when) === isShare(keep) && keep >= when) throw invalidOption("compactMessages.keep", 'less than "when"', keep);
  return { when, keep, contextWindow, summarize, native };
}

function createCompactor(settings: Settings, earlier: CompactedMessages | undefined): Compaction {
  return {
    ...compactWith({
      earlierOf: (messages) => (earlier === undefined ? undefined : checkFit(earlier, messages)),
      mayBeDue: (provider) => !isNative(provider, settings),
      isDue: (facts) => isDue(facts, settings),
      compact: (facts) => compact(facts, settings),
      thresholdFor: (provider) => thresholdFor(provider, settings),
    }),
    startWith: (found) =>
      found === undefined ? createCompactor(settings, earlier) : createCompactor(settings, checkEarlier(found)),
  };
}

function thresholdFor(provider: Provider, settings: Settings): number | undefined {
  return isNative(provider, settings) ? toTokens(settings.when, windowOf(settings, provider)) : undefined;
}

function checkEarlier(given: CompactedMessages): CompactedMessages {
  if (!isCompaction(given))
    throw invalidOption("The argument of compactMessages().startWith()", 'the "compaction" from a run\'s result', given);
  const { summary, count, kept } = given;
  return { summary, count, kept };
}

/**
 * Throws if `earlier` is from a different conversation, because a request could then have a result without its call, which services refuse.
 */
function checkFit(earlier: CompactedMessages, messages: readonly Message[]): CompactedMessages {
  if (fitsMessages(earlier, messages)) return earlier;
  throw invalidOption(
    "The argument of compactMessages().startWith()",
    'the "compaction" from an earlier run of the same conversation',
    earlier,
  );
}

function isNative({ compacts }: Provider, { native }: Settings): boolean {
  return compacts === true && native !== false;
}

function isShare(value: number): boolean {
  return value <= 1;
}

function toTokens(value: number, window: number | undefined): number | undefined {
  if (!isShare(value)) return value;
  return window === undefined ? undefined : Math.floor(value * window);
}

function windowOf({ contextWindow }: Settings, { id, model }: Provider): number | undefined {
  const window = typeof contextWindow === "function" ? contextWindow(id, model) : contextWindow;
  return isWithin(window, { min: 1, infinite: false }) ? window : undefined;
}

/**
 * The minimum share of `when` that a compaction must free. Each compaction breaks the prompt cache, so one that frees less is not worth its
 * cost.
 */
const minFreed = 0.1;

/** The factor by which the context must grow after a failure before the next attempt. */
const growthAfterFailure = 1.1;

function isDue(facts: CompactionFacts, settings: Settings): boolean {
  const { provider, last } = facts;
  const limit = toTokens(settings.when, windowOf(settings, provider));
  if (limit === undefined || isNative(provider, settings)) return false;
  const tokens = contextTokens(facts);
  const failed = last?.answer;
  const floor = failed?.kind === "failed" ? Math.max(limit, failed.tokensBefore * growthAfterFailure) : limit;
  if (tokens < floor) return false;
  const cut = cutOf(facts, settings, tokens);
  return cut !== undefined && cut.tokens >= limit * minFreed;
}

function cutOf(facts: CompactionFacts, settings: Settings, tokens: number): Cut | undefined {
  const keep = toTokens(settings.keep, windowOf(settings, facts.provider)) ?? Math.floor(tokens * settings.keep);
  const rules = facts.isForced ? shorten(facts, keep, tokens) : { keepTokens: keep };
  const { messages, earlier, filtered } = shownMessages(facts);
  if (filtered === undefined) return findCut(messages, { ...rules, earlier });
  // Cuts only after the filtered messages, because their positions do not exist in the transcript.
  const mayStay = (index: number): boolean => index >= filtered.left || placeOf(facts, filtered, index) >= 0;
  return findCut(messages, { ...rules, earlier, minCount: filtered.left, mayStay });
}

/** The messages in the next request if there is no new summary, before `earlier` replaces some of them. */
interface Shown {
  readonly messages: readonly Message[];
  readonly earlier: CompactedMessages | undefined;
  /** How the agent's handoff filtered `messages`. Undefined if the current agent sees all messages. */
  readonly filtered?: FilteredMessages | undefined;
}

function shownMessages({ messages, earlier, filtered }: CompactionFacts): Shown {
  return filtered === undefined ? { messages, earlier } : { messages: filtered.messages, earlier: undefined, filtered };
}

/** Returns the transcript position of a message that the current agent sees, or -1 for a message that a filter created. */
function placeOf({ messages: whole }: CompactionFacts, { messages, left, before }: FilteredMessages, index: number): number {
  if (index >= left) return before + index - left;
  const message = messages[index];
  return message === undefined ? -1 : whole.indexOf(message);
}

/**
 * Returns the rules for a cut after the service refused a request as too long. The window may be smaller than expected, so at
 * most a quarter of the request stays. If the refused request already had a new summary, only the last message in the request
 * stays. If the last message is more than half of the request, it is summarized too.
 */
function shorten(
  { last, streams }: CompactionFacts,
  keep: number,
  tokens: number,
): Pick<CutRules, "keepTokens" | "keepLastTokens"> {
  const isAgain = last?.answer.kind === "compacted" && last.streams === streams.length - 1;
  return { keepTokens: isAgain ? 0 : Math.min(keep, Math.floor(tokens / 4)), keepLastTokens: Math.floor(tokens / 2) };
}

/**
 * Returns the number of tokens in the next request: the usage that the service reported for the previous request, plus an estimate for the
 * newer messages. All tokens are estimated if there is no report, if a compaction came after the report, or if the report is about a
 * different agent and the current agent sees fewer messages.
 */
function contextTokens(facts: CompactionFacts): number {
  const { transcript, last: compaction, streams, system, tools } = facts;
  const shown = shownMessages(facts);
  const answer = transcript.findLastIndex(({ role }) => role === "assistant");
  const isOld = compaction?.streams === streams.length || answer < (shown.filtered?.before ?? 0);
  const stream = isOld ? undefined : streams.at(-1);
  // Prefers `lastUsage`, because `usage` adds up all attempts and is much larger than the context if some were discarded.
  const last = stream?.lastUsage ?? stream?.usage;
  if (last !== undefined && last.inputTokens > 0)
    return last.inputTokens + last.outputTokens + estimateMessages(facts.messages.slice(answer + 1));
  // Leaves out deferred tools, because a service that searches them adds one to the context only once it is found.
  const visible = tools.filter(({ deferred }) => deferred !== true);
  return estimateJson(system ?? "") + estimateJson(visible) + estimateShown(shown);
}

function estimateShown({ messages, earlier }: Shown): number {
  return estimateMessages(earlier === undefined ? messages : toCompacted(messages, earlier));
}

async function compact(facts: SummaryFacts, settings: Settings): Promise<CompactionAnswer> {
  let tokensBefore = 0;
  const fail = (error: PlainError, spending?: CompactionAnswer["spending"]): CompactionAnswer => ({
    kind: "failed",
    tokensBefore,
    tokensAfter: tokensBefore,
    spending,
    error,
  });
  try {
    tokensBefore = contextTokens(facts);
    const cut = cutOf(facts, settings, tokensBefore);
    if (cut === undefined) return fail(toError("There are no messages to summarize."));
    const {
      provider = facts.provider,
      maxOutputTokens = 4_000,
      maxCostUSD = Number.POSITIVE_INFINITY,
      instructions,
    } = settings.summarize;
    const partTokens = partTokensFor(windowOf(settings, provider), { facts, tokensBefore, maxOutputTokens });
    const shown = shownMessages(facts);
    const replaced = cut.replaced.flatMap((index) => shown.messages[index] ?? []);
    const ports = { run: facts.summaryRun, provider, maxOutputTokens, maxCostUSD, instructions, partTokens };
    const written = await writeSummary(replaced, shown.earlier?.summary, ports);
    const { spending } = written;
    if (written.error !== undefined) return fail(written.error, spending);
    const place = (index: number): number => (shown.filtered === undefined ? index : placeOf(facts, shown.filtered, index));
    const compaction = { summary: written.summary, count: place(cut.count), kept: cut.kept.map(place) };
    const freed = estimateShown(shown) - estimateMessages(toCompacted(facts.messages, compaction));
    if (freed <= 0) return fail(toError("The summary is not shorter than the messages it would replace."), spending);
    return { kind: "compacted", tokensBefore, tokensAfter: Math.max(0, tokensBefore - freed), spending, compaction };
  } catch (error) {
    return fail(toPlainError(error));
  }
}

interface PartFacts {
  readonly facts: CompactionFacts;
  readonly tokensBefore: number;
  readonly maxOutputTokens: number;
}

/**
 * Returns the maximum number of conversation tokens in one summary request. Estimates are often too low, so half of a known
 * window stays free. Without a known window, the maximum is the size of the next request, or a quarter of that size if the
 * service has refused the previous request as too long.
 */
function partTokensFor(window: number | undefined, { facts, tokensBefore, maxOutputTokens }: PartFacts): number {
  const isRefused = facts.isForced;
  const room =
    window === undefined ? Math.floor(tokensBefore / (isRefused ? 4 : 1)) : Math.floor(window / 2) - 2 * maxOutputTokens;
  return Math.max(1_000, room);
}
