// The names of the channels, and what their messages say.

import type { FinishReason, Json, LoopStatus, StreamStatus, EndReason, ToolOutcome, Usage } from "../core/provider-kit.ts";

/** The tracing channel of runs; its channels are `tracing:turnwright:run:start` and so on. Messages are `RunMessage`. */
export const runChannel = "turnwright:run";
/** The tracing channel of iterations, their calls included. Messages are `IterationMessage`. */
export const iterationChannel = "turnwright:iteration";
/** The tracing channel of calls. Messages are `ToolMessage`. */
export const toolChannel = "turnwright:tool";

/** A run. One object for all of its messages: what is only known at its end is put in then. */
export interface RunMessage {
  readonly runId: string;
  readonly provider: string;
  readonly model: string;
  readonly conversationId?: string | undefined;
  /** The call that the run is inside of, and the run of that call. */
  readonly inside?: { readonly runId: string; readonly callId: string; readonly name: string } | undefined;
  status?: LoopStatus | undefined;
  reason?: EndReason["kind"] | undefined;
  usage?: Usage | undefined;
  /** USD; undefined where unknown. */
  costUSD?: number | undefined;
  iterations?: number | undefined;
  toolCallsExecuted?: number | undefined;
  durationMs?: number | undefined;
  /** What went wrong, in a word: a provider's error by its code, others by the reason. */
  errorType?: string | undefined;
  /** What was thrown, where the run broke, such as by its journal. */
  error?: unknown;
}

/** An iteration: one stream, and the calls that it asks for. */
export interface IterationMessage {
  readonly runId: string;
  /** 0-based iteration, and stream of that iteration. */
  readonly iteration: number;
  readonly continuation: number;
  /** Whether it is recalled from a journal: then no stream and no call of it happens again. */
  readonly replayed: boolean;
  status?: StreamStatus | undefined;
  provider?: string | undefined;
  model?: string | undefined;
  finish?: FinishReason | undefined;
  usage?: Usage | undefined;
  costUSD?: number | undefined;
  /** How many calls it asked for. */
  calls?: number | undefined;
  /** Of its stream, in milliseconds. */
  durationMs?: number | undefined;
  errorType?: string | undefined;
  error?: unknown;
}

/** A call, whether it runs or is refused. */
export interface ToolMessage {
  readonly runId: string;
  readonly iteration: number;
  readonly callId: string;
  readonly name: string;
  /** Position in its turn. */
  readonly index: number;
  readonly replayed: boolean;
  outcome?: ToolOutcome["kind"] | undefined;
  durationMs?: number | undefined;
  errorType?: string | undefined;
  error?: unknown;
  /** With `captureContent` only. */
  readonly args?: Json | undefined;
  /** With `captureContent` only: what the model reads. */
  result?: Json | undefined;
}
