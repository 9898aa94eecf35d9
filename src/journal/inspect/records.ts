import { checkAnswer, isRecord, type Json, type ShownTool, type ToolChange, type ToolQuestion } from "../../core/entry-kit.ts";

/** A tool call in the current iteration that has no outcome yet. Plain data. */
export type PendingCall = {
  /**
   * The key of this call in the option `decisions`: the ids of the outer calls and the id of the call, joined by "/". If the same
   * call waits again, the id ends with a number, as in `call_i0_0#2`. A call waits again, for example, if its tool has changed,
   * or if the call needs a result after it has waited for an approval.
   */
  readonly id: string;
  readonly callId: string;
  /** The position of the call in its assistant message, counted from 0. */
  readonly index: number;
  readonly name: string;
  /** The arguments as the model wrote them. */
  readonly args: Json;
} & (
  | {
      /**
       * The call waits for a decision. To resume the run, call `runToolLoop` with the same options and with `decisions: { [id]:
       * decision }`.
       */
      readonly state: "awaiting-approval";
      /**
       * The key that the run passes to the journal's `wait`, if the journal has this method. For example,
       * `i0/approval/1/pay/decision1`.
       */
      readonly waitKey: string;
      /**
       * The tool that the decision is about. If the tool has changed when the run resumes, the run ignores the decision and
       * requests a new one.
       */
      readonly tool: ShownTool;
      /** How the tool changed after the previous request for a decision. */
      readonly toolChanges?: readonly ToolChange[] | undefined;
    }
  | {
      /**
       * The call has run, and its result comes from outside. To resume the run, call `runToolLoop` with the same options and with
       * `decisions: { [id]: result }`.
       */
      readonly state: "awaiting-result";
      /**
       * The key that the run passes to the journal's `wait`, if the journal has this method. For example,
       * `i0/result/1/pay/decision1`.
       */
      readonly waitKey: string;
      /** True if a web page may send the result of the call. */
      readonly fromPage?: true | undefined;
      /** Set if the tool asked a question. The result is then the answer to the question, and the tool runs again. */
      readonly question?: ToolQuestion | undefined;
    }
  | {
      /**
       * `may-have-run`: the call began, and is still running or was cut off by a crash. `not-begun`: the call has no records.
       * `nested-run`: the call started a nested run that has not ended. The pending calls of the nested run follow in the list.
       */
      readonly state: "may-have-run" | "not-begun" | "nested-run";
    }
);

export interface Records {
  /**
   * Returns the recorded result of a step, or undefined. The caller must choose the type `T` of this step. Throws LoopError
   * "journal-damaged" if the result is impossible for this step.
   */
  find<T>(key: string): T | undefined;
  has(key: string): boolean;
  /** The key of the last record. Ignores records that each execution of the run adds again. */
  readonly last: string | undefined;
  /** Returns the records whose keys start with `prefix`, with the prefix removed from the keys. Used for nested runs. */
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
 * True for the request for a decision about a call that was beyond a limit. Each execution of the run adds this record again,
 * even after the run has ended.
 */
function isAside(answer: unknown): boolean {
  return isRecord(answer) && answer["isBeyond"] === true;
}
