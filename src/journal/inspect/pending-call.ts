import type { Json, ShownTool, ToolChange } from "../../core/entry-kit.ts";

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
      /** What has changed of the tool since the question before this one. */
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
