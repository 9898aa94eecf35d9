// Calls one check within the time limits of the run.

import {
  type CancelScope,
  Deadline,
  type GuardrailRecord,
  promiseOrValue,
  type Run,
  toPlainError,
  withSignal,
} from "../core/entry-kit.ts";
import type { CheckContext } from "./checks.ts";
import { type ReadVerdict, readVerdict } from "./verdicts.ts";

export interface Asked extends Pick<GuardrailRecord, "guardrail" | "reason" | "info" | "error" | "spent" | "durationMs"> {
  readonly verdict: GuardrailRecord["verdict"];
  /** The text that replaces the checked text, after the verdict "rewrite". */
  readonly text?: string | undefined;
}

export interface Asking {
  /** Cancels the check. */
  readonly scope: CancelScope;
  readonly name: string;
  readonly mayRewrite: boolean;
  readonly check: (context: CheckContext) => unknown;
}

/** Calls a check, and waits for at most `timeouts.hookMs`. Never rejects: a check that fails has the verdict "failed". */
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
