// Access to the records of a journal, and the type of a pending call.

import { checkAnswer, isRecord, type Json, type ShownTool, type ToolChange } from "../../core/entry-kit.ts";

/** A call in the current iteration without an outcome. Plain data. */
export type PendingCall = {
  /**
   * The key of the call in the option `decisions`: the ids of the outer calls and the id of the call itself, joined by "/". If a
   * decision was requested again because the tool changed, or the call has waited for its approval before, a number follows:
   * `call_i0_0#2`.
   */
  readonly id: string;
  readonly callId: string;
  /** The position among the calls of the assistant message, counted from 0. */
  readonly index: number;
  readonly name: string;
  /** The arguments as the model wrote them. */
  readonly args: Json;
} & (
  | {
      /**
       * The call waits for a decision. To resume, call `runToolLoop` with the same options, and with the decision under `id` in
       * `decisions`.
       */
      readonly state: "awaiting-approval";
      /**
       * The tool that the decision is about. If the tool has changed when the run is resumed, the decision is invalid and is
       * requested again.
       */
      readonly tool: ShownTool;
      /** Changes in the tool since the previous request for a decision. */
      readonly toolChanges?: readonly ToolChange[] | undefined;
    }
  | {
      /**
       * The call has run, and its result comes from outside. To resume, call `runToolLoop` with the same options, and with the
       * result under `id` in `decisions`.
       */
      readonly state: "awaiting-result";
      /** True if a page may send the result. */
      readonly fromPage?: true | undefined;
    }
  | {
      /**
       * `may-have-run`: the call began, and is still running or was cut off when its process ended. `not-begun`: the call has no
       * records. `nested-run`: the call started a nested run that has not ended. The pending calls of the nested run follow in
       * the list.
       */
      readonly state: "may-have-run" | "not-begun" | "nested-run";
    }
);

export interface Records {
  /**
   * Returns the recorded result of a step, or undefined if the step is not recorded. The caller chooses the type that belongs to
   * the step. Throws LoopError "journal-damaged" if the result is impossible for such a step.
   */
  find<T>(key: string): T | undefined;
  has(key: string): boolean;
  /** The key of the last record that shows progress of the run. */
  readonly last: string | undefined;
  /** Returns the records whose keys start with `prefix`, and removes the prefix from the keys. Used for nested runs. */
  within(prefix: string): Records;
}

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
 * True for a record that shows no progress: a question about a call that exceeds the limit. Each execution of the run records
 * this question again, even after the run has ended.
 */
function isAside(answer: unknown): boolean {
  return isRecord(answer) && answer["isBeyond"] === true;
}
