import type { Message } from "../../types/message.ts";
import type { RequestTranscript, StreamResult } from "../../types/provider.ts";
import type { ToolDefinition } from "../../types/tool.ts";
import type { ShownTool, ToolCall, ToolChange } from "../../types/tool-outcome.ts";

/** A finished stream without its `iteration-end` event, which follows later. */
export interface OpenIteration {
  readonly result: StreamResult;
  readonly continuation: number;
  /** The calls from earlier streams in the same iteration. */
  readonly earlier: readonly ToolCall[];
  /** True if the model was called in this execution; false if the stream was replayed. */
  readonly live: boolean;
}

export interface FirstTools {
  readonly shown: { readonly [name: string]: ShownTool };
  /** The definitions from which `shown` was created. Undefined if an earlier execution began the run. */
  readonly registered: readonly ToolDefinition[] | undefined;
}

interface RecordedTools {
  /** True if `policies.approve` was set. */
  readonly asks: boolean;
  /** The called tools, as the model saw them. */
  readonly tools: ReadonlyMap<string, ShownTool>;
  /** The changes to each tool since its calls were recorded, by tool name. Omits changes that do not affect these calls. */
  readonly changes: ReadonlyMap<string, readonly ToolChange[]>;
}

export interface VisibleTools {
  readonly tools: readonly ToolDefinition[];
  readonly byName: ReadonlyMap<string, ToolDefinition>;
  /** The tools can be reused while the registry returns this list. Empty if the tools are for one iteration only. */
  readonly source: readonly ToolDefinition[];
  /** The definitions in the registry when these tools were created. */
  readonly registered: readonly ToolDefinition[];
  /** Set in a replayed iteration only: the tools from its record. */
  readonly recorded?: RecordedTools | undefined;
  readonly hiddenCount: number;
  /** True if a visible tool may start while the model is still streaming. */
  readonly hasEager: boolean;
  readonly hasApproval: boolean;
}

/** The transcript and the messages, in the form that all requests of a run share. */
export interface RequestViews extends RequestTranscript {
  /** Returns the messages to send. The property is not enumerable. */
  sent(): readonly Message[];
}
