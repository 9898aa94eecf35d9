// The types of one request to the model: its visible tools, the record of these tools, and the views of the transcript.

import type { Message } from "../../types/message.ts";
import type { RequestTranscript, StreamResult } from "../../types/provider.ts";
import type { ToolDefinition } from "../../types/tool.ts";
import type { ShownTool, ToolCall, ToolChange } from "../../types/tool-outcome.ts";

/** A finished stream whose `iteration-end` event was not emitted yet. */
export interface OpenIteration {
  readonly result: StreamResult;
  readonly continuation: number;
  readonly earlier: readonly ToolCall[];
  readonly live: boolean;
}

export interface FirstTools {
  readonly shown: { readonly [name: string]: ShownTool };
  /** The registry's definitions when the first record was written. Undefined if an earlier execution wrote the record. */
  readonly registered: readonly ToolDefinition[] | undefined;
}

interface RecordedTools {
  readonly asks: boolean;
  readonly tools: ReadonlyMap<string, ShownTool>;
  /** The changes to each tool since its calls were recorded, by tool name. Omits changes that do not affect these calls. */
  readonly changes: ReadonlyMap<string, readonly ToolChange[]>;
}

export interface VisibleTools {
  readonly tools: readonly ToolDefinition[];
  /** The tools that the model may call, by name: the visible tools, and then the deferred tools that are not loaded yet. */
  readonly byName: ReadonlyMap<string, ToolDefinition>;
  readonly findable: readonly ToolDefinition[];
  /** If this text is the same in two iterations, the same deferred tools are visible. Empty if no tool is deferred. */
  readonly stamp: string;
  /**
   * The list from the registry. The tools are reused while the registry returns this list. Empty if the tools are for one
   * iteration only.
   */
  readonly source: readonly ToolDefinition[];
  readonly registered: readonly ToolDefinition[];
  /** The tools from the record of the iteration. Set only in a replayed iteration. */
  readonly recorded?: RecordedTools | undefined;
  readonly hiddenCount: number;
  readonly hasEager: boolean;
  readonly hasApproval: boolean;
}

export interface RequestViews extends RequestTranscript {
  sent(): readonly Message[];
}
