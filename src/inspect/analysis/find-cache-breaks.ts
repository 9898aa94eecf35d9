// Finds which requests break a service's prompt cache, and why. The service can cache only what a request shares with the beginning of
// an earlier one.

import type { CacheBreakCause } from "./cache-break.ts";
import type { LoggedIteration, LoggedRequest, LoggedRun } from "../../shared/run-log.ts";
import { alignMessages, countChanges } from "./align-messages.ts";
import { diffFields, diffTools } from "./diff-requests.ts";
import { isSameText, jsonLength, sharedLength } from "./json-parts.ts";
import { findMasking, isMovedEnd, type MaskedCalls, maskedUpTo, type RequestStep, walkRequests } from "./request-messages.ts";

export interface CacheBreak {
  /** The position in `run.iterations`. */
  readonly index: number;
  readonly iteration: number;
  readonly continuation: number;
  /** The request to compare with: the newest earlier request to the same provider and model, or else the previous request. */
  readonly earlier: LoggedIteration;
  /** True if a request to a different provider or model was sent between the two requests. */
  readonly isSwitchedBack: boolean;
  readonly afterMs: number;
  /** The causes, in the order in which services read a request. The first cause determines how much is lost. */
  readonly causes: readonly [CacheBreakCause, ...CacheBreakCause[]];
  /** The length of the earlier request's tools, system text and messages as JSON, in characters. */
  readonly prefixChars: number;
  readonly keptChars: number;
  /**
   * The number of characters after the first difference. 0 if only settings have changed, because a changed setting breaks the cache only
   * with some services.
   */
  readonly lostChars: number;
  readonly cachedTokens: number | undefined;
  /**
   * An estimate of the input tokens that the cache could have provided: the share of unchanged characters, times the earlier request's
   * input tokens.
   */
  readonly possibleTokens: number | undefined;
}

/**
 * Yields the cache break of each request. Yields undefined for a request that only adds messages, because it breaks nothing. A long run
 * takes a second to analyze, so the caller can pause between requests.
 */
export function* walkCacheBreaks(run: LoggedRun): Generator<CacheBreak | undefined, void> {
  const places = new Map(run.iterations.map((iteration, index) => [iteration, index]));
  const masking = findMasking(run);
  const last = new Map<string, LoggedIteration>();
  // The position of each message in the previous request, in characters. The last number is the request's length.
  let sums: readonly number[] = [0];
  for (const step of walkRequests(run)) {
    const { iteration, previous } = step;
    const masked = maskedUpTo(masking, iteration.iteration);
    const earlier = last.get(targetOf(iteration).join("\n")) ?? previous;
    const isSwitchedBack = earlier !== previous;
    const compared = earlier !== undefined && isSwitchedBack ? compareWith(earlier, step) : { step, sums };
    const found = earlier && findBreak(compared.step, { earlier, sums: compared.sums, masked });
    yield found && { ...found, isSwitchedBack, index: places.get(iteration) ?? 0 };
    sums = extendSums(sums, step);
    last.set(targetOf(iteration).join("\n"), iteration);
  }
}

/** Compares the request in `step` with an earlier request that is not the previous one. */
function compareWith({ request }: LoggedIteration, step: RequestStep): Pick<Before, "sums"> & { readonly step: RequestStep } {
  const before = request?.messages() ?? [];
  const found = before.findIndex((message, at) => !isSameText(message, step.messages[at]));
  const firstChange = found === -1 ? undefined : found;
  const sums = [0];
  for (const message of before) sums.push((sums.at(-1) ?? 0) + jsonLength(message));
  return { step: { ...step, firstChange, before: firstChange === undefined ? [] : before.slice(firstChange) }, sums };
}

function extendSums(sums: readonly number[], { messages, firstChange }: RequestStep): readonly number[] {
  const extended = firstChange === undefined ? (sums as number[]) : sums.slice(0, firstChange + 1);
  for (let at = extended.length - 1; at < messages.length; at += 1) extended.push((extended[at] ?? 0) + jsonLength(messages[at]));
  return extended;
}

interface Before {
  readonly earlier: LoggedIteration;
  readonly sums: readonly number[];
  readonly masked: MaskedCalls;
}

function findBreak(
  step: RequestStep,
  { earlier, sums, masked }: Before,
): Omit<CacheBreak, "index" | "isSwitchedBack"> | undefined {
  const { iteration } = step;
  const request = withoutDeferred(step.request);
  const old = withoutDeferred(earlier.request ?? step.request);
  const target = targetCauses(earlier, iteration);
  const causes = [...target, ...toolCauses(old, request), ...systemCauses(old, request), ...messageCauses(step, masked)];
  const changes = [...causes, ...settingCauses(old, request)];
  const [first, ...others] = changes.length > 0 ? changes : causeIf(readsNothing(earlier, iteration), { kind: "cache-unread" });
  if (first === undefined) return undefined;
  const measured = measure(old, { ...step, request }, sums);
  const { chars, keptChars } = target.length > 0 ? { ...measured, keptChars: 0 } : measured;
  const inputTokens = earlier.usage?.inputTokens;
  return {
    iteration: iteration.iteration,
    continuation: iteration.continuation,
    earlier,
    afterMs: request.at - old.at,
    causes: [first, ...others],
    prefixChars: chars,
    keptChars,
    lostChars: chars - keptChars,
    cachedTokens: iteration.usage?.cachedInputTokens,
    possibleTokens: inputTokens === undefined ? undefined : Math.floor((inputTokens * keptChars) / Math.max(chars, 1)),
  };
}

/** Removes tools that the service adds to the messages only when the model finds them, because they are not part of the prefix. */
function withoutDeferred(request: LoggedRequest): LoggedRequest {
  return { ...request, tools: request.tools.filter(({ deferred }) => deferred !== true) };
}

/**
 * True if the service wrote or read its cache for the earlier request, but read nothing for the new request. False if the earlier
 * request was not cached, because services do not cache small requests.
 */
function readsNothing({ usage: before }: LoggedIteration, { usage }: LoggedIteration): boolean {
  const wasCached = (before?.cachedInputTokens ?? 0) + (before?.cacheWriteTokens ?? 0) > 0;
  return wasCached && usage?.cachedInputTokens === 0;
}

function measure(old: LoggedRequest, step: RequestStep, sums: readonly number[]): Omit<Prefix, "isWhole"> {
  const head = measureHead(old, step.request);
  const chars = head.chars + (sums.at(-1) ?? 0);
  const { firstChange: index } = step;
  if (!head.isWhole) return { chars, keptChars: head.keptChars };
  if (index === undefined) return { chars, keptChars: chars };
  return { chars, keptChars: head.chars + (sums[index] ?? 0) + sharedLength(step.before[0], step.messages[index]) };
}

/** Returns the provider and model that answered. A fallback may have answered in place of the requested provider. */
function targetOf({ provider, model, request }: LoggedIteration): readonly [provider: string, model: string] {
  return [provider ?? request?.provider ?? "", model ?? request?.model ?? ""];
}

function targetCauses(earlier: LoggedIteration, iteration: LoggedIteration): readonly CacheBreakCause[] {
  const [[oldProvider, oldModel], [provider, model]] = [targetOf(earlier), targetOf(iteration)];
  return [
    ...causeIf(oldProvider !== provider, { kind: "provider-changed", values: [oldProvider, provider] }),
    ...causeIf(oldModel !== model, { kind: "model-changed", values: [oldModel, model] }),
  ];
}

function toolCauses(old: LoggedRequest, request: LoggedRequest): readonly CacheBreakCause[] {
  const difference = diffTools(old.tools, request.tools);
  if (difference === undefined) return [];
  const { removed, added, changed, order, isReordered } = difference;
  const before = old.tools.map(({ name }) => name);
  const causes = [
    ...removed.map(({ name }) => ({ kind: "tool-removed", name, at: before.indexOf(name) }) as const),
    ...added.map(({ name }) => ({ kind: "tool-added", name, at: order.indexOf(name) }) as const),
    ...changed.map(({ name, isKeyOrder }) => {
      const kind = isKeyOrder ? "tool-keys-reordered" : "tool-changed";
      return { kind, name, at: before.indexOf(name) } as const;
    }),
  ];
  const sorted = causes.sort((one, other) => one.at - other.at).map(({ kind, name }): CacheBreakCause => ({ kind, name }));
  return [...sorted, ...causeIf(isReordered, { kind: "tools-reordered" })];
}

function systemCauses(old: LoggedRequest, request: LoggedRequest): readonly CacheBreakCause[] {
  return causeIf(old.system !== request.system, { kind: "system-changed" });
}

const messageKinds = {
  masked: "messages-masked",
  compacted: "messages-compacted",
  edited: "messages-edited",
  removed: "messages-removed",
  added: "messages-inserted",
  "keys-reordered": "message-keys-reordered",
} as const;

function messageCauses(step: RequestStep, masked: MaskedCalls): readonly CacheBreakCause[] {
  const { before, messages, firstChange } = step;
  if (firstChange === undefined || isMovedEnd(before, messages[firstChange])) return [];
  const changes = alignMessages(before, messages.slice(firstChange), masked);
  // Leaves out messages added at the end, because they do not change the prefix and so cannot break the cache.
  const causes = changes.filter(({ kind, index }) => kind !== "added" || index < before.length);
  return [...countChanges(causes)].map(([kind, count]): CacheBreakCause => ({ kind: messageKinds[kind], count }));
}

/** Settings that services apply only after reading the prompt, so a change to them does not break the cache. */
const samplingSettings = new Set(["maxOutputTokens", "temperature", "topP", "stopSequences", "seed"]);

function settingCauses(old: LoggedRequest, request: LoggedRequest): readonly CacheBreakCause[] {
  return diffFields(old, request).flatMap(({ name }): readonly CacheBreakCause[] => {
    if (name === "toolChoice") return [{ kind: "tool-choice-changed" }];
    const setting = name.startsWith("settings.") ? name.slice("settings.".length) : undefined;
    return setting === undefined || samplingSettings.has(setting) ? [] : [{ kind: "setting-changed", name: setting }];
  });
}

function causeIf(isCause: boolean, cause: CacheBreakCause): readonly CacheBreakCause[] {
  return isCause ? [cause] : [];
}

interface Prefix {
  readonly chars: number;
  /** The number of characters that are the same at the beginning of both requests. */
  readonly keptChars: number;
  /** True if the next request begins with all of these parts of the previous request. */
  readonly isWhole: boolean;
}

function measureHead(previous: LoggedRequest, next: LoggedRequest): Prefix {
  const lengths = previous.tools.map(jsonLength);
  const toolChars = lengths.reduce((sum, length) => sum + length, 0);
  const chars = toolChars + jsonLength(previous.system);
  if (!isSameText(previous.tools, next.tools)) {
    const found = previous.tools.findIndex((tool, at) => !isSameText(tool, next.tools[at]));
    // If all previous tools are unchanged, the first difference is a tool added at the end.
    const index = found === -1 ? previous.tools.length : found;
    const before = lengths.slice(0, index).reduce((sum, length) => sum + length, 0);
    const keptChars = before + (found === -1 ? 0 : sharedLength(previous.tools[index], next.tools[index]));
    return { chars, keptChars, isWhole: false };
  }
  if (previous.system === next.system) return { chars, keptChars: chars, isWhole: true };
  return { chars, keptChars: toolChars + sharedLength(previous.system, next.system), isWhole: false };
}
