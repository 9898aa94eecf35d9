import type { Usage } from "./usage.ts";

/**
 * What is made of successful results before they enter the transcript, in this order. Each stage may be left out, and may answer with
 * a promise. One that throws or takes longer than `hookMs` is told to listeners and skipped.
 */
export interface ResultPipeline {
  /** Gets each result as text, with the text parts of its content, and gives the text to put in their place; undefined leaves it as it is. */
  processor?(toolName: string, output: string): string | undefined | PromiseLike<string | undefined>;
  readonly extractor?: ResultExtractor | undefined;
  readonly cacher?: ResultCacher | undefined;
}

/** Condenses large results, with a model of its own for instance. */
export interface ResultExtractor {
  /** Results of more estimated tokens than this are extracted. Default 15,000. */
  readonly threshold?: number | undefined;
  /** Gives what matters of a result, and what that took. */
  extract(output: string, facts: ExtractionFacts): string | ExtractedResult | PromiseLike<string | ExtractedResult>;
}

/** What an extraction may go by. */
export interface ExtractionFacts {
  readonly toolName: string;
  /** The text of the last user message; empty where there is none. */
  readonly userText: string;
}

/** What came of an extraction. */
export interface ExtractedResult {
  readonly text: string;
  /** Counts towards the usage, the cost and the limits of the run. Default none. */
  readonly usage?: Usage | undefined;
  /** Whose tokens these are, for `pricing`. Default the provider of the run. */
  readonly model?: { readonly provider: string; readonly model: string } | undefined;
}

/** Keeps large results elsewhere. */
export interface ResultCacher {
  /** Results that still have more estimated tokens than this are stored. Default 2,000. */
  readonly threshold?: number | undefined;
  /** The tool that its texts point to: a run whose list of tools lacks it is refused. Default none. */
  readonly toolName?: string | undefined;
  /** Keeps a result, and gives the text that stands for it. */
  store(output: string, facts: { readonly toolName: string }): string | PromiseLike<string>;
}

/**
 * Leaves old results out of what is sent. The transcript keeps them. Of results that were handed in with `messages` none is left out,
 * nor is any error.
 */
export interface MaskingPolicy {
  /** How many of the iterations before a request keep their results. `Infinity` masks nothing by age. Default 2. */
  readonly keepIterations?: number | undefined;
  /** Results of fewer estimated tokens stay. Default 500. */
  readonly minTokens?: number | undefined;
  /** 0-based iterations whose results are left out whatever their age. Read before each iteration; what was left out stays so. */
  readonly force?: ReadonlySet<number> | undefined;
  /** Masks by age in steps of so many iterations, so that most requests begin as the one before. Default 1. */
  readonly batchOf?: number | undefined;
}

/** Where a result cache keeps its texts. Ids are made by the cache. */
export interface ResultStore {
  /** Keeps a text under a new id. */
  write(id: string, text: string): void | PromiseLike<void>;
  /** The text, or undefined where there is none (any more). */
  read(id: string): string | undefined | PromiseLike<string | undefined>;
  /** Drops a text; one that is not there is no failure. */
  remove(id: string): void | PromiseLike<void>;
  /** All that is kept, and its size in bytes of UTF-8. */
  list(): readonly StoredResult[] | PromiseLike<readonly StoredResult[]>;
}

/** One text in a store. */
export interface StoredResult {
  readonly id: string;
  readonly bytes: number;
}
