// The records of a journal for a reader, and the calls among them that wait.

import { checkAnswer, isRecord, type Json, type ShownTool, type ToolChange } from "../../core/entry-kit.ts";

/** A call of the open batch that has no outcome yet. Plain data. */
export type PendingCall = {
  /**
   * Its name in the option `decisions`: its call id, after those of the calls that it is inside of, with "/" between. If somebody was
   * asked anew, because the tool had changed, the number of the question follows: `call_i0_0#2`.
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
      /** Somebody has to decide about it. Make the call of `runToolLoop` again with a decision under `id`. */
      readonly state: "awaiting-approval";
      /** The tool that the question is about. A decision holds for this tool: if it has changed by then, the question is asked anew. */
      readonly tool: ShownTool;
      /** Changes of the tool since the question before this one. */
      readonly toolChanges?: readonly ToolChange[] | undefined;
    }
  | {
      /**
       * `may-have-run`: it began, and runs now or was cut off by the end of its process. `not-begun`: nothing of it is recorded.
       * `nested-run`: it is a run of its own that is not over; the pending calls of that run follow it.
       */
      readonly state: "may-have-run" | "not-begun" | "nested-run";
    }
);

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
