// One request to the model: its tools and messages, and the stream that it returns.

import type { Message } from "../../types/message.ts";
import type { RequestTranscript, StreamResult } from "../../types/provider.ts";
import type { ToolDefinition } from "../../types/tool.ts";
import type { ShownTool, ToolCall, ToolChange } from "../../types/tool-outcome.ts";

/** A stream whose `iteration-end` was not sent yet. */
export interface OpenIteration {
  readonly result: StreamResult;
  readonly continuation: number;
  /** The calls of earlier streams of the iteration. */
  readonly earlier: readonly ToolCall[];
  /** True if it was streamed in this execution. */
  readonly live: boolean;
}

/** The tools at the start of a run. */
export interface FirstTools {
  readonly shown: { readonly [name: string]: ShownTool };
  /** The definitions that they were made from; undefined if an earlier execution began the run. */
  readonly registered: readonly ToolDefinition[] | undefined;
}

/** The tools of a replayed iteration's calls, from its record. */
interface RecordedTools {
  /** True if `policies.approve` was set. */
  readonly asks: boolean;
  /** The called tools as the model saw them. */
  readonly tools: ReadonlyMap<string, ShownTool>;
  /** Later changes that break calls, by tool. */
  readonly changes: ReadonlyMap<string, readonly ToolChange[]>;
}

/** Visible tools by name, and the definitions that they were made from. */
export interface VisibleTools {
  readonly tools: readonly ToolDefinition[];
  readonly byName: ReadonlyMap<string, ToolDefinition>;
  /** The definitions for which these tools can be reused. Empty if they are for one iteration only. */
  readonly source: readonly ToolDefinition[];
  /** The tools of the registry at that time. */
  readonly registered: readonly ToolDefinition[];
  /** Set in a replayed iteration. */
  readonly recorded?: RecordedTools | undefined;
  readonly hiddenCount: number;
  /** True if one of them starts early. */
  readonly hasEager: boolean;
  /** True if one of them may require decisions. */
  readonly hasApproval: boolean;
}

/** The lists that the requests of one run share. */
export interface RequestViews {
  /** The messages to send. */
  sent(): readonly Message[];
  /** The same as a property of each request. All requests share one getter, which is cheap. */
  readonly messages: PropertyDescriptor;
  readonly transcript: RequestTranscript;
}
