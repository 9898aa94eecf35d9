// What the end of a stream means: one row per finish reason, one column per what the turn holds.

import type { FinishReason } from "../contract/provider.ts";
import type { ProviderErrorCode } from "../contract/plain-error.ts";
import type { StreamStatus, Termination } from "../contract/termination.ts";
import { assertNever } from "../kit/assert-never.ts";
import { providerError } from "../errors/provider-error.ts";

/** What a turn holds, its earlier hops included. */
export interface TurnContent {
  /** It has text that is not blank. */
  readonly text: boolean;
  readonly calls: boolean;
}

/** A status, and the reason where the pass ends the turn. */
export interface Judgement {
  readonly status: StreamStatus;
  readonly reason?: Termination | undefined;
}

/** Judges a stream that ended by itself. `undefined` stands for a stream without a finish. */
export function judgeFinish(finish: FinishReason | undefined, turn: TurnContent, raw?: string): Judgement {
  switch (finish) {
    case "stop":
      if (turn.calls) return failed("finish-unknown", "The model said that it was done and asked for tools.");
      return turn.text ? completed("answered") : { status: "empty_response", reason: { kind: "empty" } };
    case "tool-calls":
      if (turn.calls) return { status: "function_call" };
      return turn.text ? completed("answered") : failed("no-output", "The model asked for tools and named none.");
    case "length":
    case "context-full":
      if (turn.calls) return { status: "function_call" };
      return turn.text ? completed("length") : failed("no-output", "The model reached its length limit without any output.");
    case "refusal":
    case "content-filter":
      return completed(finish);
    case "malformed-call":
      return { status: "function_call" };
    case "paused":
    case "continue":
      return { status: "completed" };
    case "error":
      return failed("finish-error", `The model ended with an error${raw === undefined ? "" : ` (${raw})`}.`);
    case "unknown":
      return failed("finish-unknown", `The model ended for an unknown reason${raw === undefined ? "" : ` (${raw})`}.`);
    case undefined:
      return failed("stream-ended-early", "The stream ended without a finish reason.");
    default:
      return assertNever(finish);
  }
}

/** What a finish makes of every call of its turn, earlier hops included: none of them runs. */
export function problemOf(finish: FinishReason | undefined): "malformed" | "truncated" | undefined {
  if (finish === "length" || finish === "context-full") return "truncated";
  return finish === "malformed-call" ? "malformed" : undefined;
}

/** Whether the turn goes on with another stream of the same pass. */
export function isResent(finish: FinishReason | undefined): boolean {
  return finish === "paused" || finish === "continue";
}

function completed(kind: "answered" | "length" | "refusal" | "content-filter"): Judgement {
  return { status: "completed", reason: { kind } };
}

function failed(code: ProviderErrorCode, message: string): Judgement {
  return { status: "error", reason: { kind: "provider-error", error: providerError(code, message) } };
}
