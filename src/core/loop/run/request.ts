// One request to the model: the tools and messages that it shows, and the stream that comes of it.

import type { Message } from "../../types/message.ts";
import type { RequestTranscript, StreamResult } from "../../types/provider.ts";
import type { ToolDefinition } from "../../types/tool.ts";
import type { ShownTool, ToolCall, ToolChange } from "../../types/tool-outcome.ts";

/** A stream whose end listeners have not heard of. */
export interface OpenIteration {
  readonly result: StreamResult;
  readonly continuation: number;
  /** The calls of earlier streams of the iteration. */
  readonly earlier: readonly ToolCall[];
  /** Whether it was streamed in this execution. */
  readonly live: boolean;
}

/** The tools that a run began with. */
export interface FirstTools {
  readonly shown: { readonly [name: string]: ShownTool };
  /** The definitions that they were made of; undefined where an execution before this one began the run. */
  readonly registered: readonly ToolDefinition[] | undefined;
}

/** The tools of a replayed iteration's calls, as its record has them. */
interface RecordedTools {
  /** Whether a policy was there to decide about the calls. */
  readonly asks: boolean;
  /** The called tools as they were shown. */
  readonly tools: ReadonlyMap<string, ShownTool>;
  /** Changes since then that break calls, by tool. */
  readonly changes: ReadonlyMap<string, readonly ToolChange[]>;
}

/** Tools by name, and the definitions that they were made from. */
export interface VisibleTools {
  readonly tools: readonly ToolDefinition[];
  readonly byName: ReadonlyMap<string, ToolDefinition>;
  /** The definitions that it may be used again for; none where it is for one iteration. */
  readonly source: readonly ToolDefinition[];
  /** The tools of the registry when it was made. */
  readonly registered: readonly ToolDefinition[];
  /** Set in a replayed iteration. */
  readonly recorded?: RecordedTools | undefined;
  readonly hiddenCount: number;
  /** Whether one of them starts early. */
  readonly hasEager: boolean;
  /** Whether one of them wants calls to be decided about. */
  readonly hasApproval: boolean;
}

/** The lists of the requests of one run. */
export interface RequestViews {
  /** The messages to send. */
  sent(): readonly Message[];
  /** The same, as a property of each request: one getter for all of them costs little. */
  readonly messages: PropertyDescriptor;
  readonly transcript: RequestTranscript;
}
