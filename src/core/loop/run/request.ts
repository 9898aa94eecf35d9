// The types of one model request: its tools, its messages, and the stream that answers it.

import type { Message } from "../../types/message.ts";
import type { RequestTranscript, StreamResult } from "../../types/provider.ts";
import type { ToolDefinition } from "../../types/tool.ts";
import type { ShownTool, ToolCall, ToolChange } from "../../types/tool-outcome.ts";

/** A finished stream whose `iteration-end` event was not emitted yet. */
export interface OpenIteration {
  readonly result: StreamResult;
  readonly continuation: number;
  /** The calls from earlier streams in the same iteration. */
  readonly earlier: readonly ToolCall[];
  /** True if the model was streamed in this execution; false if the stream was replayed. */
  readonly live: boolean;
}

export interface FirstTools {
  readonly shown: { readonly [name: string]: ShownTool };
  /** The definitions from which `shown` was made. Undefined if an earlier execution began the run. */
  readonly registered: readonly ToolDefinition[] | undefined;
}

/** The facts about the tools of the calls, from the record of a replayed iteration. */
interface RecordedTools {
  /** True if `policies.approve` was set. */
  readonly asks: boolean;
  /** The called tools as the model saw them. */
  readonly tools: ReadonlyMap<string, ShownTool>;
  /** Later tool changes that do not fit the recorded calls, by tool name. */
  readonly changes: ReadonlyMap<string, readonly ToolChange[]>;
}

/** The visible tools, and the definitions from which they were made. */
export interface VisibleTools {
  readonly tools: readonly ToolDefinition[];
  readonly byName: ReadonlyMap<string, ToolDefinition>;
  /** These visible tools can be reused as long as the registry has this list. Empty if the tools are for one iteration only. */
  readonly source: readonly ToolDefinition[];
  /** The definitions in the registry when these tools were made. */
  readonly registered: readonly ToolDefinition[];
  /** Set in a replayed iteration. */
  readonly recorded?: RecordedTools | undefined;
  readonly hiddenCount: number;
  /** True if a visible tool starts while the model is still streaming. */
  readonly hasEager: boolean;
  readonly hasApproval: boolean;
}

/** The transcript that all requests of one run share. */
export interface RequestViews extends RequestTranscript {
  /** Returns the messages to send. This property is not enumerable. */
  sent(): readonly Message[];
}
