// The first record of a run: which run this is, and what it started from. It is enough to rebuild the state from the other records.

import type { LoopAction } from "../../types/loop-event.ts";
import type { Message } from "../../types/message.ts";
import type { ShownTool } from "../../types/tool-change.ts";
import type { InitialState } from "./loop-state.ts";

/** The format of the records: see docs/decisions/0021. */
export const recordVersion = 3;

/** What a run and a later execution of it are compared by. */
export type RunPrint = {
  readonly version: number;
  /** Absent if the caller named none. */
  readonly runId?: string;
  /** The tools that it began with. */
  readonly tools: { readonly [name: string]: ShownTool };
  readonly messagesDigest: string;
};

/** What a run started from. Plain data. */
export type RunStart = {
  /** The messages that the run was given, as they were sent. */
  readonly messages: readonly Message[];
  /** Set if costs could be known. */
  readonly priced?: true;
  /** How repeated calls were counted, and when the model was told of them; absent if it was not. */
  readonly loops?: {
    readonly repetition: NonNullable<InitialState["repetition"]>;
    readonly rule: { readonly threshold: number; readonly action: LoopAction };
  };
};

/** The first record. */
export type RunRecord = RunPrint & RunStart;
