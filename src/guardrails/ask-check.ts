import {
  type CancelScope,
  Deadline,
  describeValue,
  type GuardrailRecord,
  isRecord,
  type Json,
  promiseOrValue,
  type Run,
  textOrNone,
  toJson,
  toPlainError,
  toUsage,
  withSignal,
} from "../core/entry-kit.ts";
import type { CheckContext, CheckSpending } from "./checks.ts";

export interface Asked extends Pick<GuardrailRecord, "guardrail" | "reason" | "info" | "error" | "spent" | "durationMs"> {
  readonly verdict: GuardrailRecord["verdict"];
  /** The text that replaces the checked text, after the verdict "rewrite". */
  readonly text?: string | undefined;
}

export interface Asking {
  readonly scope: CancelScope;
  readonly name: string;
  readonly mayRewrite: boolean;
  readonly check: (context: CheckContext) => unknown;
}

/** Calls a check, and waits for at most `timeouts.hookMs`. Never rejects: a check that fails gets the verdict "failed". */
export async function askCheck(run: Run, { scope, name, mayRewrite, check }: Asking): Promise<Asked> {
  const { clock, timeouts } = run;
  const deadline = new Deadline({ limitMs: timeouts.hookMs }, { clock, scope });
  const startedAt = clock.now();
  const end = (facts: Pick<Asked, "verdict" | "error"> | ReadVerdict): Asked => {
    deadline.end();
    return { guardrail: name, ...facts, durationMs: clock.now() - startedAt };
  };
  const fail = (error: unknown): Asked => end({ verdict: "failed", error: toPlainError(error) });
  if (scope.cause !== undefined) return end({ verdict: "cancelled" });
  try {
    const { runId, state, options } = run;
    const { session = {}, context } = options;
    const facts = withSignal({ runId, iteration: state.iteration, session, context }, deadline);
    const raced = await deadline.race(Promise.resolve(promiseOrValue(check(facts))));
    if (raced.kind === "cancelled") return end({ verdict: "cancelled" });
    if (raced.kind === "thrown") return fail(raced.error);
    if (raced.kind === "expired") {
      return fail(new DOMException(`The check took longer than ${raced.limitMs} ms.`, "TimeoutError"));
    }
    return end(readVerdict(raced.value, mayRewrite));
  } catch (error) {
    return fail(error);
  }
}

interface ReadVerdict {
  readonly verdict: "pass" | "rewrite" | "refuse";
  readonly text?: string | undefined;
  readonly reason?: string | undefined;
  readonly info?: Json | undefined;
  readonly spent?: CheckSpending | undefined;
}

/** Throws for an invalid verdict, so that a check with a misspelt "refuse" does not pass everything. */
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
