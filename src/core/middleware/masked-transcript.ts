// The transcript with notes in place of old tool results. It is kept between iterations, so that each message is read only once.

import type { Message, ToolResultPart } from "../types/message.ts";
import type { MaskingOptions } from "../types/middleware-options.ts";
import type { ToolHistoryEntry } from "../types/tool-outcome.ts";
import { checkFields, type Checks } from "../../shared/errors/check-fields.ts";
import { estimateMedia } from "../../shared/estimate-media.ts";
import { cutText } from "../../shared/texts.ts";
import { estimateTokens } from "../../shared/estimate-tokens.ts";
import { forgetView, seal } from "../../shared/transcript.ts";

const count = { min: 0 };

const checks: Checks<MaskingOptions> = {
  keepIterations: count,
  minTokens: count,
  force: ["a Set of iteration numbers", (value) => value instanceof Set],
  batchOf: { min: 1, infinite: false },
};

/** The default for `minTokens`: smaller results are not masked. */
export const minMasked = 500;

/** Checks the options of `maskResults`, and adds the defaults. */
export function readMaskingOptions(path: string, options: MaskingOptions): MaskingRules & Pick<MaskingOptions, "force"> {
  checkFields(path, options, checks);
  const { keepIterations = 2, minTokens = minMasked, batchOf = 1, force } = options;
  return { keepIterations, minTokens, batchOf, force };
}

export interface MaskingRules {
  readonly keepIterations: number;
  readonly minTokens: number;
  readonly batchOf: number;
}

/** A result that can be masked. `at` is the index of its message, and `index` is its position in the message. */
interface Entry {
  readonly callId: string;
  readonly at: number;
  readonly index: number;
  readonly iteration: number;
  readonly tokens: number;
}

const maxNameLength = 64;

export interface Masked {
  readonly calls: readonly string[];
  readonly tokensBefore: number;
  readonly tokensAfter: number;
}

export interface ReleasedResults {
  readonly iteration: number;
  /** The call ids, or "all" for the calls from earlier iterations. */
  readonly release: readonly string[] | "all";
}

/** The parts of a run's state that masking needs. */
export interface MaskingSource {
  readonly messages: readonly Message[];
  readonly iteration: number;
  /** The number of messages before the current iteration. */
  readonly iterationStart: number;
  readonly functionHistory: readonly ToolHistoryEntry[];
  readonly forcedIterations: readonly number[];
  readonly releases: readonly ReleasedResults[];
}

/** The transcript that the model sees. A message stays the same object until one of its results is masked. */
export class MaskedTranscript {
  readonly #rules: MaskingRules;
  readonly #messages: Message[] = [];
  #stable = 0;
  #historyRead = 0;
  #forcedRead = 0;
  #releasesRead = 0;
  /** The results that can still be masked, by call id. `#iterations` lists the same results by iteration, oldest first. */
  readonly #open = new Map<string, Entry>();
  readonly #iterations = new Map<number, Entry[]>();
  #lastIteration: number | undefined;
  readonly #replacements = new WeakMap<Message, Message>();
  readonly #originals = new WeakMap<Message, Message>();

  constructor(rules: MaskingRules) {
    this.#rules = rules;
  }

  get messages(): readonly Message[] {
    return this.#messages;
  }

  /** Returns a message as the model sees it, with masked results replaced. */
  replacementOf(message: Message): Message {
    return this.#replacements.get(message) ?? message;
  }

  findForced(force: ReadonlySet<number>): readonly number[] {
    const last = this.#lastIteration;
    // Checks the newest iteration separately, because `#iterations` does not contain it yet.
    const found = last !== undefined && force.has(last) ? [last] : [];
    const iterations = this.#iterations;
    // Both sets may be large, so the loop iterates over the smaller one.
    const before =
      force.size < iterations.size
        ? [...force].filter((each) => iterations.has(each))
        : [...iterations.keys()].filter((each) => force.has(each));
    return [...before.filter((each) => each !== last), ...found];
  }

  update(state: MaskingSource): Masked | undefined {
    this.#take(state);
    const due = [...this.#findForced(state), ...this.#findReleased(state), ...this.#findOld(state.iteration)];
    this.#lastIteration = state.iteration;
    return due.length === 0 ? undefined : this.#mask(due);
  }

  /** Adds new messages. Rereads the messages in an unfinished iteration, because the run may have replaced them. */
  #take({ messages, functionHistory, iterationStart }: MaskingSource): void {
    const iterations = new Map<string, number>();
    for (; this.#historyRead < functionHistory.length; this.#historyRead += 1) {
      const entry = functionHistory[this.#historyRead];
      if (entry?.outcome === "completed") iterations.set(entry.functionCall.id, entry.iteration);
    }
    this.#messages.length = this.#stable;
    for (let at = this.#stable; at < messages.length; at += 1) {
      const message = messages[at];
      if (message === undefined) continue;
      this.#messages.push(message);
      if (message.role !== "tool") continue;
      message.results.forEach((part, index) => this.#note(part, { at, index, iteration: iterations.get(part.callId) }));
    }
    this.#stable = iterationStart;
  }

  /** Adds a result that can be masked later. Skips errors, which must stay visible, and results in the caller's `messages`. */
  #note(part: ToolResultPart, { iteration, ...place }: Pick<Entry, "at" | "index"> & { iteration: number | undefined }): void {
    if (iteration === undefined || part.outcome !== "completed") return;
    const tokens = estimateResult(part);
    if (tokens < this.#rules.minTokens) return;
    const entry = { callId: part.callId, ...place, iteration, tokens };
    this.#open.set(part.callId, entry);
    const entries = this.#iterations.get(iteration);
    if (entries === undefined) this.#iterations.set(iteration, [entry]);
    else entries.push(entry);
  }

  #findForced({ forcedIterations }: MaskingSource): readonly Entry[] {
    const found = forcedIterations.slice(this.#forcedRead).flatMap((each) => this.#close(each));
    this.#forcedRead = forcedIterations.length;
    return found;
  }

  #findReleased({ releases }: MaskingSource): readonly Entry[] {
    const found = releases.slice(this.#releasesRead).flatMap((released) => this.#release(released));
    this.#releasesRead = releases.length;
    return found;
  }

  #release({ iteration, release }: ReleasedResults): readonly Entry[] {
    if (release === "all") return this.#closeBefore(iteration);
    return release.flatMap((callId) => {
      const entry = this.#open.get(callId);
      this.#open.delete(callId);
      return entry === undefined ? [] : [entry];
    });
  }

  /**
   * Returns the results that are old enough to be masked. Results are masked in groups of `batchOf` iterations, so that most
   * requests begin exactly like the previous request, and the prompt cache can be used.
   */
  #findOld(iteration: number): readonly Entry[] {
    const { keepIterations, batchOf } = this.#rules;
    return this.#closeBefore(Math.floor((iteration - keepIterations) / batchOf) * batchOf);
  }

  #closeBefore(each: number): readonly Entry[] {
    const found: Entry[] = [];
    for (const open of this.#iterations.keys()) {
      if (open >= each) break;
      found.push(...this.#close(open));
    }
    return found;
  }

  #close(each: number): readonly Entry[] {
    const entries = this.#iterations.get(each) ?? [];
    this.#iterations.delete(each);
    return entries.filter(({ callId }) => this.#open.delete(callId));
  }

  #mask(due: readonly Entry[]): Masked {
    const byMessage = new Map<number, Map<number, string>>();
    let tokensAfter = 0;
    for (const { at, index, iteration, tokens } of due) {
      const message = this.#messages[at];
      const part = message?.role === "tool" ? message.results[index] : undefined;
      if (part === undefined) continue;
      const placeholder = describeMasked(part, iteration, tokens);
      tokensAfter += estimateTokens(placeholder);
      const placeholders = byMessage.get(at) ?? new Map<number, string>();
      byMessage.set(at, placeholders.set(index, placeholder));
    }
    for (const [at, placeholders] of byMessage) this.#replace(at, placeholders);
    const tokensBefore = due.reduce((sum, { tokens }) => sum + tokens, 0);
    return { calls: due.map(({ callId }) => callId), tokensBefore, tokensAfter };
  }

  #replace(at: number, placeholders: ReadonlyMap<number, string>): void {
    const message = this.#messages[at];
    if (message?.role !== "tool") return;
    const results = message.results.map((part, index): ToolResultPart => {
      const result = placeholders.get(index);
      return result === undefined ? part : { callId: part.callId, name: part.name, outcome: part.outcome, result };
    });
    const masked = seal({ ...message, results });
    this.#messages[at] = masked;
    this.#replacements.set(this.#originals.get(message) ?? message, masked);
    this.#originals.set(masked, this.#originals.get(message) ?? message);
    forgetView(this.#messages);
  }
}

function estimateResult({ result, content = [] }: ToolResultPart): number {
  const text = typeof result === "string" ? result : JSON.stringify(result);
  const beside = content.map((part) => (part.type === "text" ? estimateTokens(part.text) : estimateMedia(part)));
  return beside.reduce((sum, tokens) => sum + tokens, estimateTokens(text));
}

/** Returns the note for a masked result. It contains the call id, which a model needs to release results. */
function describeMasked({ name, callId }: ToolResultPart, iteration: number, tokens: number): string {
  const count = String(tokens).replace(/\B(?=(\d{3})+$)/g, ",");
  const call = `${cutText(name, maxNameLength)} (call ${cutText(callId, maxNameLength)})`;
  return `[Result of ${call} from iteration ${iteration} left out: ${count} tokens.]`;
}
