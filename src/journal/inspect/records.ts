// The records of a journal, for those who only read.

import { checkAnswer, isRecord } from "../../core/entry-kit.ts";

/** Finds what a journal has recorded. */
export interface Records {
  /**
   * The answer under a key; undefined if it is not recorded. The type is that of the step which records it: throws LoopError
   * "journal-damaged" for an answer that such a step cannot have given.
   */
  find<T>(key: string): T | undefined;
  has(key: string): boolean;
  /** The key that was recorded last, apart from those that say nothing of how far the run has come. */
  readonly last: string | undefined;
  /** The records whose keys start with a prefix, without it: those of a run inside a call. */
  within(prefix: string): Records;
}

/** Makes a view of records that are in the order of recording. */
export function toRecords(answers: ReadonlyMap<string, unknown>): Records {
  const keys = [...answers.keys()];
  return {
    find: <T>(key: string) => {
      if (answers.has(key)) checkAnswer(key, answers.get(key));
      return answers.get(key) as T | undefined;
    },
    has: (key) => answers.has(key),
    last: keys.findLast((key) => !isAside(answers.get(key))),
    within: (prefix) =>
      toRecords(new Map(keys.filter((key) => key.startsWith(prefix)).map((key) => [key.slice(prefix.length), answers.get(key)]))),
  };
}

/** A question about a call that cannot run is recorded again each time the run is made again, also after its end. */
function isAside(answer: unknown): boolean {
  return isRecord(answer) && answer["isBeyond"] === true;
}
