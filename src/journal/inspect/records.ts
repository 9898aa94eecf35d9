// The records of a journal, and the waiting calls among them.

import { checkAnswer, isRecord, type Json, type ShownTool, type ToolChange } from "../../core/entry-kit.ts";

/** A call of the open batch without an outcome. Plain data. */
export type PendingCall = {
  /**
   * The key of the call in the option `decisions`: the ids of the calls around it and its own id, joined by "/". If a decision
   * was requested again because the tool changed, or the call has waited for its approval before, a number follows: `call_i0_0#2`.
   */
  readonly id: string;
  readonly callId: string;
  /** 0-based position among the calls of its assistant message. */
  readonly index: number;
  readonly name: string;
  /** As the model wrote them. */
  readonly args: Json;
} & (
  | {
      /** The call waits for a decision. Repeat the call of `runToolLoop` with a decision under `id`. */
      readonly state: "awaiting-approval";
      /**
       * The tool that the question is about. A decision is valid only for this tool: if it has changed by then, the question is
       * asked again.
       */
      readonly tool: ShownTool;
      /** Changes of the tool since the previous question. */
      readonly toolChanges?: readonly ToolChange[] | undefined;
    }
  | {
      /** The call has run, and its result comes from outside. Repeat the call of `runToolLoop` with a result under `id`. */
      readonly state: "awaiting-result";
    }
  | {
      /**
       * `may-have-run`: it began, and is running or was cut off by the end of its process. `not-begun`: it has no records.
       * `nested-run`: it is an unfinished run; the pending calls of that run follow it.
       */
      readonly state: "may-have-run" | "not-begun" | "nested-run";
    }
);

/** The records of a journal. */
export interface Records {
  /**
   * Returns the result of a step; undefined if it is not recorded. The type is that of the step. Throws LoopError
   * "journal-damaged" for a result that such a step cannot have.
   */
  find<T>(key: string): T | undefined;
  has(key: string): boolean;
  /** The last recorded key that shows progress of the run. */
  readonly last: string | undefined;
  /** Returns the records whose keys start with a prefix, without the prefix: those of a run inside a call. */
  within(prefix: string): Records;
}

/** Makes a view of records in the order of recording. */
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

/**
 * True for a record that shows no progress: a question about a call beyond the limit is recorded again by each execution, even
 * after the end.
 */
function isAside(answer: unknown): boolean {
  return isRecord(answer) && answer["isBeyond"] === true;
}
