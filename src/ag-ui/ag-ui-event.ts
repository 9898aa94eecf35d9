// Declares AG-UI's event types instead of importing them, because they differ between versions of `@ag-ui/core`.

import type { Json, Usage } from "../core/index.ts";

/** The AG-UI protocol version that a web page uses: the version of its `@ag-ui/client`. */
export type AGUIVersion = "1.0" | "0.0";

/** Identifies the nested run that an event belongs to. Events of the outermost run have no `subagentRunId`. */
export interface AGUIAttribution {
  readonly subagentRunId?: string;
}

/** One event of an AG-UI stream. */
export type AGUIEvent =
  | (AGUIRunIds & { readonly type: "RUN_STARTED"; readonly protocolVersion?: "1.0" })
  | (AGUIRunIds & {
      readonly type: "RUN_FINISHED";
      readonly result?: AGUIRunResult;
      readonly outcome: AGUIOutcome;
      readonly usage?: AGUIUsage[];
    })
  | { readonly type: "RUN_ERROR"; readonly message: string; readonly code: string }
  | { readonly type: "MESSAGES_SNAPSHOT"; readonly messages: AGUIMessage[] }
  | AGUIPartEvent;

/** An event between `RUN_STARTED` and the end of the run. */
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
      /** How the tool call ended, such as "completed" or "denied". */
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

/** A fragment of text, of reasoning, or of a tool call's arguments. */
export type AGUIDelta =
  | ({
      readonly type: "TEXT_MESSAGE_CONTENT" | "REASONING_MESSAGE_CONTENT";
      readonly messageId: string;
      readonly delta: string;
    } & AGUIAttribution)
  | ({ readonly type: "TOOL_CALL_ARGS"; readonly toolCallId: string; readonly delta: string } & AGUIAttribution);

/** The names of the `CUSTOM` events that turnwright sends. */
export type AGUICustomName =
  | "tool-progress"
  | "tool-emit"
  | "approval-decided"
  | "question-asked"
  | "question-answered"
  | "attempt-discarded"
  | "notice"
  | "masked"
  | "compaction"
  | "cost"
  | "steered"
  | "subagent";

/** The ids that an AG-UI client sends with its request, and uses to match events to that request. */
export interface AGUIRunIds {
  readonly threadId: string;
  readonly runId: string;
}

/** The outcome of a run that ended without an error. "cancelled" exists only in version 1.0. */
export type AGUIOutcome =
  | { readonly type: "success" | "cancelled" }
  | { readonly type: "interrupt"; readonly interrupts: AGUIInterrupt[] };

/** A tool call that is waiting for a decision or a result, usually from the web page. */
export interface AGUIInterrupt extends AGUIAttribution {
  /** The `runId`, a colon, and the `id` of the waiting call in `result.pendingCalls`. `readAGUIRequest` separates them again. */
  readonly id: string;
  /**
   * Why the call is waiting. "input_required" means that middleware or a durable tool is waiting for an answer from the page.
   * "external_result" means that the result or the answer comes from outside the page, for example from a webhook.
   */
  readonly reason: "approval_required" | "client_tool_input" | "input_required" | "external_result";
  /** A sentence that the page can show, such as `May "pay" run?`. */
  readonly message: string;
  /** The waiting tool call. Absent if no call is waiting, for example when middleware waits for an answer before a model request. */
  readonly toolCallId?: string;
  /** The JSON Schema for the `payload` that the page sends in its answer. Absent for the reason "external_result". */
  readonly responseSchema?: { [keyword: string]: unknown };
  /** Details of the wait. The waiting code supplies `what` and `facts`, which are set only for the reason "input_required". */
  readonly metadata: {
    readonly kind: "approval" | "result" | "answer";
    readonly toolName: string;
    readonly input: Json;
    readonly what?: string;
    readonly facts?: Json;
  };
}

/** The `result` of a finished run: how the run ended, without error messages or other text. */
export interface AGUIRunResult {
  readonly status: string;
  /** The `kind` of the run's end reason, such as "answered" or "approval-required". */
  readonly reason: string;
  readonly usage: Usage;
  /** The cost in USD. Absent if an iteration's cost is unknown. */
  readonly costUSD?: number;
}

/** The token usage of a run, with AG-UI 1.0 field names. */
export interface AGUIUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly totalTokens: number;
  readonly cachedInputTokens?: number;
  readonly cacheWriteInputTokens?: number;
  readonly reasoningTokens?: number;
}

/** A message in AG-UI format. Pass such messages to a client as `initialMessages`, or send them in a `MESSAGES_SNAPSHOT` event. */
export type AGUIMessage =
  | { readonly id: string; readonly role: "user"; readonly content: string | AGUIContentPart[] }
  | { readonly id: string; readonly role: "reasoning"; readonly content: string }
  | { readonly id: string; readonly role: "assistant"; readonly content?: string; readonly toolCalls?: AGUIToolCall[] }
  | {
      readonly id: string;
      readonly role: "tool";
      readonly toolCallId: string;
      readonly content: string;
      /** How the tool call ended. Set only if the call did not complete. */
      readonly error?: string;
    };

/** A part of a user message. */
export type AGUIContentPart =
  | { readonly type: "text"; readonly text: string }
  | {
      readonly type: "image" | "document";
      readonly source:
        | { readonly type: "data"; readonly value: string; readonly mimeType: string }
        | { readonly type: "url"; readonly value: string; readonly mimeType: string };
      readonly metadata?: { readonly filename: string };
    };

/** A tool call in an assistant message. */
export interface AGUIToolCall {
  readonly id: string;
  readonly type: "function";
  readonly function: { readonly name: string; readonly arguments: string };
}
