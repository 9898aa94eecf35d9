// Declares the guardrail types that the core needs. The checks themselves are in the `turnwright/middleware` entry point.

import type { PlainError, Usage } from "./common.ts";
import type { Json } from "./common.ts";

/** The recorded result of one `guardrails` check. */
export interface GuardrailRecord {
  /** The name of the check. */
  readonly guardrail: string;
  /** "failed" if the check threw an error or took too long, which ends the run. "cancelled" if the run ended during the check. */
  readonly verdict: "pass" | "rewrite" | "refuse" | "failed" | "cancelled";
  /** The checked part of the output. Absent for an input check. */
  readonly part?: "text" | "reasoning" | undefined;
  readonly reason?: string | undefined;
  readonly info?: Json | undefined;
  readonly error?: PlainError | undefined;
  /** The tokens that the check used, and their cost in USD. Absent if the check reported none. */
  readonly spent?: { readonly usage: Usage; readonly costUSD?: number | undefined } | undefined;
  readonly durationMs: number;
}

/** The check that denied a call. If `endsRun` is true, the run ends as `tool-guardrail`, and no other call in the message runs. */
export interface DenyingGuardrail {
  readonly name: string;
  readonly endsRun?: true | undefined;
}

/** The check that refused, and its reason. `info` is the data that the check returned. */
export interface GuardrailRefusal {
  readonly guardrail: string;
  readonly reason?: string | undefined;
  readonly info?: Json | undefined;
}
