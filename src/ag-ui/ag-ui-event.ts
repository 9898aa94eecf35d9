// The events of AG-UI that a run is sent as. Declared here, because each version of `@ag-ui/core` has other types. Tests check every
// event with the validators of 1.0 and 0.0.

import type { Json, Usage } from "../core/entry-kit.ts";

/** The version of the protocol that the page reads: that of `@ag-ui/client`. */
export type AGUIVersion = "1.0" | "0.0";

/** Says which run inside a call an event belongs to. Absent on events of the run itself. */
export interface AGUIAttribution {
  readonly subagentRunId?: string;
}

/** One event of the stream. */
export type AGUIEvent =
  | (AGUIRunIds & { readonly type: "RUN_STARTED"; readonly protocolVersion?: "1.0" })
  | (AGUIRunIds & {
      readonly type: "RUN_FINISHED";
      readonly result?: AGUIRunResult;
      readonly outcome: AGUIOutcome;
      readonly usage?: AGUIUsage[];
    })
  | { readonly type: "RUN_ERROR"; readonly message: string; readonly code: string }
  | AGUIPartEvent;

/** An event inside a run. */
export type AGUIPartEvent =
  | ({ readonly type: "STEP_STARTED" | "STEP_FINISHED"; readonly stepName: string } & AGUIAttribution)
  | ({ readonly type: "TEXT_MESSAGE_START"; readonly messageId: string; readonly role: "assistant" } & AGUIAttribution)
  | AGUIDelta
  | ({
      readonly type: "TEXT_MESSAGE_END" | "REASONING_START" | "REASONING_MESSAGE_END" | "REASONING_END";
      readonly messageId: string;
    } & AGUIAttribution)
  | ({ readonly type: "REASONING_MESSAGE_START"; readonly messageId: string; readonly role: "reasoning" } & AGUIAttribution)
  | ({
      readonly type: "TOOL_CALL_START";
      readonly toolCallId: string;
      readonly toolCallName: string;
      readonly parentMessageId: string;
    } & AGUIAttribution)
  | ({ readonly type: "TOOL_CALL_END"; readonly toolCallId: string } & AGUIAttribution)
  | ({
      readonly type: "TOOL_CALL_RESULT";
      readonly messageId: string;
      readonly toolCallId: string;
      readonly role: "tool";
      readonly content: string;
      /** How the call ended, such as "completed" or "denied". */
      readonly metadata: { readonly outcome: string };
    } & AGUIAttribution)
  | {
      readonly type: "SUBAGENT_STARTED";
      readonly subagentRunId: string;
      readonly name: string;
      readonly parentToolCallId: string;
      readonly parentSubagentRunId?: string;
    }
  | {
      readonly type: "SUBAGENT_FINISHED";
      readonly subagentRunId: string;
      readonly outcome: { readonly type: "success" } | { readonly type: "suspended"; readonly interruptIds?: string[] };
    }
  | { readonly type: "SUBAGENT_ERROR"; readonly subagentRunId: string; readonly message: string; readonly code: string }
  | ({ readonly type: "CUSTOM"; readonly name: AGUICustomName; readonly value: Json } & AGUIAttribution);

/** A fragment of a text, of reasoning, or of arguments. */
export type AGUIDelta =
  | ({
      readonly type: "TEXT_MESSAGE_CONTENT" | "REASONING_MESSAGE_CONTENT";
      readonly messageId: string;
      readonly delta: string;
    } & AGUIAttribution)
  | ({ readonly type: "TOOL_CALL_ARGS"; readonly toolCallId: string; readonly delta: string } & AGUIAttribution);

/** The names of `CUSTOM` events. The guide lists their values. */
export type AGUICustomName =
  | "tool-progress"
  | "approval-decided"
  | "attempt-discarded"
  | "notice"
  | "masked"
  | "cost"
  | "steered"
  | "subagent";

/** The ids that a client correlates a run by. */
export interface AGUIRunIds {
  readonly threadId: string;
  readonly runId: string;
}

/** Why a run ended without an error. "cancelled" is version 1.0 only. */
export type AGUIOutcome =
  | { readonly type: "success" | "cancelled" }
  | { readonly type: "interrupt"; readonly interrupts: AGUIInterrupt[] };

/** A call that waits for the page. */
export interface AGUIInterrupt extends AGUIAttribution {
  /** The id of the run and that of the waiting call, as in `result.pendingCalls`. `readAGUIRequest` separates them. */
  readonly id: string;
  readonly reason: "approval_required" | "client_tool_input";
  /** A text for people. */
  readonly message: string;
  readonly toolCallId: string;
  /** JSON Schema of the `payload` of an answer. */
  readonly responseSchema: { [keyword: string]: unknown };
  readonly metadata: { readonly kind: string; readonly toolName: string; readonly input: Json };
}

/** The `result` of a finished run: the facts of its ending, without its texts. */
export interface AGUIRunResult {
  readonly status: string;
  /** The kind of the reason, such as "answered" or "approval-required". */
  readonly reason: string;
  readonly usage: Usage;
  /** USD; absent if the cost of an iteration is unknown. */
  readonly costUSD?: number;
}

/** Tokens in the words of AG-UI 1.0. */
export interface AGUIUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly totalTokens: number;
  readonly cachedInputTokens?: number;
  readonly cacheWriteInputTokens?: number;
  readonly reasoningTokens?: number;
}
