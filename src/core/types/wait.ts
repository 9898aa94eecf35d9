import type { StandardSchema } from "./common.ts";

/** Options for a wait. All are optional. `Answer` is the output type of the schema. */
export interface WaitOptions<Answer = unknown> {
  /**
   * Validates the answer. If an answer is invalid, the run rejects with LoopError "invalid-decision", and the call keeps waiting. The
   * journal records the original answer, and the wait returns the output of the schema.
   */
  readonly schema?: StandardSchema<unknown, Answer> | undefined;
  /** The time, in milliseconds since 1970, at which the wait returns null if there is no answer. Default: never. */
  readonly until?: number | undefined;
  /** Set to true if a web page may send the answer. Default false. */
  readonly fromPage?: boolean | undefined;
  /** Called with the id of the wait before its answer is returned. */
  answered?(id: string): void;
}
