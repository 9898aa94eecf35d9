import type { Issue, Json, PlainError, ProviderError } from "./common.ts";
import type { GuardrailRefusal } from "./guardrails.ts";
import type { UserMessage } from "./message.ts";
import type { WaitingCall } from "./tool-outcome.ts";

/** The status of a stream: how the iteration ended. */
export type StreamStatus =
  | "completed"
  | "tool-calls"
  | "error"
  | "timeout"
  | "empty-response"
  | "stopped-by-user"
  | "follow-up-interrupt";

/** How a run ended. `reason` is more precise. A run with the status `suspended` can be resumed. */
export type LoopStatus = Exclude<StreamStatus, "tool-calls"> | "suspended";

/**
 * The reason why a cost is unknown. "no-usage": the provider reported no usage. "no-price": `pricing` returned undefined.
 * "pricing-failed": `pricing` threw an error, or returned something other than undefined or a number of at least 0.
 */
export type CostUnknownWhy = "no-usage" | "no-price" | "pricing-failed";

/** The reason why a run ended. docs/concepts/endings.md explains each kind. */
export type EndReason =
  // Reasons for the status "completed":
  | { readonly kind: "answered" | "end-turn" | "pre-tool-text" }
  | { readonly kind: "stop-condition"; readonly reason?: string | undefined }
  | { readonly kind: "length" | "refusal" | "content-filter" }
  // Reasons for the status "error":
  | { readonly kind: "provider-error"; readonly error: ProviderError }
  | { readonly kind: "malformed-call" }
  | { readonly kind: "tool-error-cap"; readonly count: number }
  | { readonly kind: "restart-cap"; readonly count: number }
  | { readonly kind: "handoff-cap"; readonly count: number }
  /** `expectedUSD` is the expected cost of the next stream. */
  | { readonly kind: "max-cost"; readonly limitUSD: number; readonly spentUSD: number; readonly expectedUSD?: number | undefined }
  /**
   * `provider`, `model` and `iteration` (counted from 0) identify the first stream or attempt with an unknown cost. They are absent if the
   * costs of all the run's own streams are known.
   */
  | {
      readonly kind: "cost-unknown";
      readonly provider?: string | undefined;
      readonly model?: string | undefined;
      readonly iteration?: number | undefined;
      readonly why?: CostUnknownWhy | undefined;
    }
  | { readonly kind: "loop-detected"; readonly toolName: string; readonly count: number }
  | { readonly kind: "max-tokens"; readonly limit: number; readonly spent: number }
  | { readonly kind: "max-tool-calls" | "max-pauses"; readonly limit: number }
  | { readonly kind: "hook-failed"; readonly hook: string; readonly error: PlainError }
  | { readonly kind: "fatal-tool-error"; readonly toolName: string; readonly error: PlainError }
  /** A `guardrails` check refused the input, the output or a tool call. `guardrail` is the name of the check. */
  | ({ readonly kind: "input-guardrail" | "output-guardrail" } & GuardrailRefusal)
  | ({ readonly kind: "tool-guardrail"; readonly toolName: string } & GuardrailRefusal)
  | { readonly kind: "invalid-output"; readonly issues: readonly Issue[]; readonly attempts: number }
  // Reasons for the status "timeout":
  | { readonly kind: "max-iterations"; readonly limit: number }
  | { readonly kind: "stream-idle" | "first-chunk" | "stream-too-long" | "wall-clock"; readonly limitMs: number }
  // Reasons for the status "empty-response":
  | { readonly kind: "empty" }
  // Reasons for the status "stopped-by-user":
  | { readonly kind: "stopped"; readonly requester?: string | undefined; readonly note?: string | undefined }
  | { readonly kind: "killed" }
  | { readonly kind: "aborted"; readonly reason: PlainError | Json }
  | { readonly kind: "iteration-abort"; readonly reason?: string | undefined }
  // Reasons for the status "follow-up-interrupt":
  | { readonly kind: "interrupted"; readonly message: UserMessage }
  // Reasons for the status "suspended":
  | { readonly kind: "drained" }
  /** `approval-required`: at least one call is waiting for a decision. `result-required`: all waiting calls need a result. */
  | { readonly kind: "approval-required" | "result-required"; readonly calls: readonly WaitingCall[] };
