import { isRecord } from "../../core/kit.ts";
import { askCaller } from "../../shared/ask-caller.ts";
import type { GuardrailRecord } from "../../core/types/guardrails.ts";
import type { Clock, Json } from "../../core/index.ts";
import { describeValue } from "../../shared/texts.ts";
import { textOrNone, toPlainError, toUsage } from "../../shared/plain-error.ts";
import { toJson } from "../../shared/json.ts";
import type { CheckContext, CheckSpending } from "./checks.ts";

export interface Asked extends Pick<GuardrailRecord, "guardrail" | "reason" | "info" | "error" | "spent" | "durationMs"> {
  readonly verdict: GuardrailRecord["verdict"];
  /** The text that replaces the checked text, for the verdict "rewrite". */
  readonly text?: string | undefined;
}

/** The parts of a run that checks need, and the time limit for the checks. */
export interface CheckPorts {
  readonly facts: Omit<CheckContext, "signal">;
  readonly clock: Clock;
  /** The time limit for each check, in milliseconds. */
  readonly ms: number;
  readonly signal: AbortSignal;
}

export interface Asking {
  readonly name: string;
  readonly mayRewrite: boolean;
  readonly check: (context: CheckContext) => unknown;
}

/** Calls a check, and waits for at most `ms`. Never rejects: a check that fails gets the verdict "failed". */
export async function askCheck({ facts, clock, ms, signal }: CheckPorts, { name, mayRewrite, check }: Asking): Promise<Asked> {
  const startedAt = clock.now();
  const end = (found: Pick<Asked, "verdict" | "error"> | ReadVerdict): Asked => ({
    guardrail: name,
    ...found,
    durationMs: clock.now() - startedAt,
  });
  if (signal.aborted) return end({ verdict: "cancelled" });
  try {
    const limits = { clock, ms, signal, late: `The check took longer than ${ms} ms.` };
    const verdict = await askCaller((own) => check({ ...facts, signal: own }), limits);
    return end(readVerdict(verdict, mayRewrite));
  } catch (error) {
    return end(signal.aborted ? { verdict: "cancelled" } : { verdict: "failed", error: toPlainError(error) });
  }
}

interface ReadVerdict {
  readonly verdict: "pass" | "rewrite" | "refuse";
  readonly text?: string | undefined;
  readonly reason?: string | undefined;
  readonly info?: Json | undefined;
  readonly spent?: CheckSpending | undefined;
}

/** Reads a check's verdict. Throws if it is invalid, because a check with a misspelled "refuse" would otherwise pass everything. */
function readVerdict(value: unknown, mayRewrite: boolean): ReadVerdict {
  const { kind, text, reason, info, spent } = isRecord(value) ? value : {};
  const facts = { reason: textOrNone(reason), spent: readSpending(spent) };
  if (kind === "pass") return { verdict: kind, ...facts };
  if (kind === "refuse") return { verdict: kind, ...facts, info: info === undefined ? undefined : toJson(info) };
  if (kind === "rewrite" && mayRewrite && typeof text === "string") return { verdict: kind, ...facts, text };
  const expected = mayRewrite ? '"pass", "refuse" or "rewrite" (with a string "text")' : '"pass" or "refuse"';
  throw new TypeError(`A check must return an object whose "kind" is ${expected}, but returned ${describeValue(value)}.`);
}

function readSpending(value: unknown): CheckSpending | undefined {
  if (!isRecord(value)) return undefined;
  const { usage, costUSD } = value;
  const cost = typeof costUSD === "number" && Number.isFinite(costUSD) && costUSD >= 0 ? { costUSD } : {};
  return { usage: toUsage(usage), ...cost };
}
