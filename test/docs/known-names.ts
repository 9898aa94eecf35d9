// Every name that the docs must mention. A missing or unknown name does not compile.

import type {
  FinishReason,
  LoopErrorCode,
  LoopEvents,
  LoopStatus,
  ModelChunk,
  ModelRequest,
  ProviderErrorCode,
  EndReason,
} from "turnwright";
import type { EventBase, LoopEventType, ToolTraits } from "turnwright/parts";

type Names<Name extends PropertyKey> = { readonly [Key in Name]: true };

/** The status of each end reason. */
export const statusByReason: { readonly [Kind in EndReason["kind"]]: LoopStatus } = {
  answered: "completed",
  "end-turn": "completed",
  "pre-tool-text": "completed",
  "stop-condition": "completed",
  length: "completed",
  refusal: "completed",
  "content-filter": "completed",
  "provider-error": "error",
  "malformed-call": "error",
  "tool-error-cap": "error",
  "restart-cap": "error",
  "max-cost": "error",
  "cost-unknown": "error",
  "loop-detected": "error",
  "max-tokens": "error",
  "max-tool-calls": "error",
  "max-pauses": "error",
  "hook-failed": "error",
  "fatal-tool-error": "error",
  "invalid-output": "error",
  "max-iterations": "timeout",
  "stream-idle": "timeout",
  "first-chunk": "timeout",
  "wall-clock": "timeout",
  empty: "empty-response",
  stopped: "stopped-by-user",
  killed: "stopped-by-user",
  aborted: "stopped-by-user",
  "iteration-abort": "stopped-by-user",
  interrupted: "follow-up-interrupt",
  drained: "suspended",
  "approval-required": "suspended",
  "result-required": "suspended",
};

/** Every finish reason of a model. */
export const finishReasons: Names<FinishReason> = {
  stop: true,
  "tool-calls": true,
  length: true,
  "context-full": true,
  refusal: true,
  "content-filter": true,
  "malformed-call": true,
  paused: true,
  continue: true,
  error: true,
  unknown: true,
};

/** Every code of a `ProviderError`. */
export const providerErrorCodes: Names<ProviderErrorCode> = {
  "stream-ended-early": true,
  "finish-error": true,
  "finish-unknown": true,
  "no-output": true,
  auth: true,
  "rate-limit": true,
  overloaded: true,
  "bad-request": true,
  "context-too-long": true,
  network: true,
  server: true,
};

/** Every code of a `LoopError`. */
export const loopErrorCodes: Names<LoopErrorCode> = {
  "invalid-option": true,
  "unknown-option": true,
  "invalid-messages": true,
  "duplicate-tool": true,
  "invalid-tool": true,
  "invalid-schema": true,
  "already-running": true,
  "depth-exceeded": true,
  "journal-mismatch": true,
  "journal-locked": true,
  "journal-refused": true,
  "journal-damaged": true,
  "journal-closed": true,
  "journal-incomplete": true,
  "journal-unresponsive": true,
  "store-unresponsive": true,
  "tools-changed": true,
  "unknown-decision": true,
  "invalid-decision": true,
};

/** Every trait that a tool can declare. */
export const traits: Names<keyof ToolTraits> = {
  sequential: true,
  timeoutMs: true,
  idleTimeoutMs: true,
  idempotent: true,
  retry: true,
  eager: true,
  requiresFollowUp: true,
  needsApproval: true,
  replay: true,
  origin: true,
  masking: true,
};

/** Every field of a `ModelRequest`. */
export const requestFields: Names<keyof ModelRequest> = {
  messages: true,
  system: true,
  tools: true,
  toolChoice: true,
  settings: true,
  iteration: true,
  continuationToken: true,
  transcript: true,
};

/** The fields of each event, without those that all events have. */
export const eventFields: { readonly [Type in LoopEventType]: Names<Exclude<keyof LoopEvents[Type], keyof EventBase>> } = {
  "run-start": { provider: true, model: true },
  "run-end": {
    status: true,
    reason: true,
    usage: true,
    costUSD: true,
    iterations: true,
    toolCallsExecuted: true,
    durationMs: true,
  },
  "replay-end": {},
  "iteration-start": { continuation: true },
  "iteration-end": {
    continuation: true,
    status: true,
    provider: true,
    model: true,
    finish: true,
    usage: true,
    costUSD: true,
    calls: true,
    durationMs: true,
  },
  "text-delta": { text: true, attempt: true },
  "reasoning-delta": { text: true, attempt: true },
  "tool-args-delta": { callId: true, name: true, index: true, text: true },
  "tool-args-end": { callId: true, name: true, index: true, args: true, problem: true },
  "approval-asked": { callId: true, name: true, index: true, args: true },
  "approval-decided": { callId: true, name: true, index: true, decision: true, args: true, reason: true, error: true },
  "tool-start": { callId: true, name: true, index: true, args: true },
  "tool-progress": { callId: true, name: true, index: true, data: true },
  "tool-end": { callId: true, name: true, index: true, outcome: true, result: true, durationMs: true, metadata: true },
  "hidden-notice": { callId: true, name: true, index: true, trigger: true, args: true },
  restart: { callId: true, name: true, index: true, suffix: true, disableTools: true, pendingContext: true },
  "result-processed": { callId: true, name: true, index: true, tokensBefore: true, tokensAfter: true },
  "result-extracted": { callId: true, name: true, index: true, tokensBefore: true, tokensAfter: true },
  "result-cached": { callId: true, name: true, index: true, tokensBefore: true, tokensAfter: true },
  masked: { calls: true, tokensBefore: true, tokensAfter: true },
  notice: { kind: true },
  "loop-detected": { toolName: true, count: true, cycle: true, action: true },
  steered: { message: true },
  "attempt-discarded": { attempt: true, error: true },
  "late-result": { callId: true, name: true, index: true, success: true },
  "listener-error": { event: true, error: true },
};

type Chunk<Type extends ModelChunk["type"]> = Extract<ModelChunk, { readonly type: Type }>;

/** The fields of each provider chunk, without `type`. */
export const chunkFields: { readonly [Type in ModelChunk["type"]]: Names<Exclude<keyof Chunk<Type>, "type">> } = {
  "text-delta": { text: true },
  "reasoning-delta": { text: true },
  "refusal-delta": { text: true },
  "call-start": { key: true, id: true, name: true },
  "call-args-delta": { key: true, text: true },
  "call-ready": { key: true, id: true, name: true, args: true, argsText: true, problem: true },
  usage: { usage: true, mode: true },
  "provider-metadata": { item: true },
  details: { text: true },
  "thought-log": { payload: true },
  "attempt-start": { attempt: true, provider: true, model: true, family: true },
  "attempt-discarded": { attempt: true, error: true },
  finish: { reason: true, raw: true, token: true },
  error: { error: true },
};
