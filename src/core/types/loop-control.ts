import type { UserMessage } from "./message.ts";

/**
 * Talks to a running loop from outside. Made by `createLoopControl`. Each verb answers "finished" once it is decided how
 * the run that holds the control ends, and else "accepted".
 */
export interface LoopControl {
  /** Sends a message before the next iteration, and has one more iteration made of a run that would be complete. Nothing is cut off. */
  steer(message: string | UserMessage): "accepted" | "finished";
  /**
   * Before the first call of the run: cuts the model off and ends the run as `interrupted`. From the first call on the run goes on,
   * and the message comes back in `undelivered`.
   */
  interrupt(message: string | UserMessage): "accepted" | "finished";
  /** Ends the run as `drained` before its next iteration; the iteration that runs finishes, its calls included. Can be resumed. */
  drain(): "accepted" | "finished";
  /** Ends the run as `stopped`: the model is cut, running tools get `settleMs`. */
  stop(request?: StopRequest): "accepted" | "finished";
  /** Ends the run as `killed`, at once. */
  kill(): "accepted" | "finished";
  /** True once a stop, a kill or the signal has asked for the end. */
  hasStopRequest(): boolean;
  /** True from the first call of a run to its end. */
  isToolChainActive(): boolean;
}

/** Who stopped a run, and why. */
export interface StopRequest {
  readonly requester?: string | undefined;
  readonly note?: string | undefined;
}
