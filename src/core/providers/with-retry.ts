// A provider that asks again where its service was busy or out of reach.

import type { ProviderError, ProviderErrorCode } from "../types/common.ts";
import type { Provider } from "../types/provider.ts";
import { type Check, checkFields, type Checks, is, numberWithin } from "../errors/check-fields.ts";
import { assertProvider } from "../errors/provider-error.ts";
import { longestTimerMs } from "../cancellation/deadline.ts";
import { streamAttempts } from "./stream-attempts.ts";

/** How often, and after which waits, a request is repeated. */
export interface RetryOptions {
  /** Most requests for one stream, the first one included. A whole number of at least 1. Default 3. */
  readonly maxAttempts?: number | undefined;
  /** The longest wait before the second request, in milliseconds; each further one is twice as long. Default 500. */
  readonly baseDelayMs?: number | undefined;
  /** No wait of its own is longer than this, in milliseconds. Default 30,000. */
  readonly maxDelayMs?: number | undefined;
  /** A service that asks for a longer wait than this, in milliseconds, is not asked again. Default 60,000. */
  readonly maxRetryAfterMs?: number | undefined;
  /** From 0 to 1: spreads the waits over their second half, so that clients do not come back all at once. Default `Math.random`. */
  readonly random?: (() => number) | undefined;
}

const [, isDelay] = numberWithin({ min: 0, max: longestTimerMs, infinite: false });
const delay: Check = [`a whole number of milliseconds from 0 to ${longestTimerMs}`, isDelay];

const checks: Checks<RetryOptions> = {
  maxAttempts: /* @__PURE__ */ numberWithin({ min: 1, infinite: false }),
  baseDelayMs: delay,
  maxDelayMs: delay,
  maxRetryAfterMs: delay,
  random: is.fn,
};

/** The same request gives the same answer, whatever the service says of it. */
const final: ReadonlySet<ProviderErrorCode> = new Set(["auth", "bad-request", "context-too-long"]);

/**
 * Makes a provider that asks the same provider again after an error that is `retryable`, thrown or in the stream, as long as nothing
 * was heard of the attempt: once a user has seen text, reasoning or a call, its failure is the stream's. A stream that ends
 * without a finish or with "error" counts as such an error; "unknown" and the codes `auth`, `bad-request` and `context-too-long` are
 * never tried again, nor is anything after a stop or an abort. Silence is not an error: the iteration ends with it.
 *
 * It waits between half and all of `baseDelayMs`, doubled with each attempt up to `maxDelayMs`, and no less than the service asks for.
 * The last failure is handed on as it came. Each attempt is told as `attempt-start`, each that failed as `attempt-discarded`, and what
 * it has used is counted.
 *
 * The SDKs of OpenAI and Anthropic retry by themselves: give their client `maxRetries: 0`, or the attempts multiply.
 *
 * Throws LoopError "invalid-option" or "unknown-option" at once where an argument is wrong.
 *
 * @example
 * const provider = withRetry(openaiChat({ client: new OpenAI({ maxRetries: 0 }), model: "gpt-5-mini" }), { maxAttempts: 5 });
 */
export function withRetry(provider: Provider, options: RetryOptions = {}): Provider {
  assertProvider("provider", provider);
  checkFields("options", options, checks);
  const rules = toRules(options);
  const { id, model, family } = provider;
  return {
    id,
    model,
    ...(family === undefined ? {} : { family }),
    stream: (request, call) => {
      let failed = 0;
      const first = { provider, request };
      return streamAttempts(
        {
          first,
          next: ({ error }, wasHeard) => {
            failed += 1;
            const delayMs = wasHeard ? undefined : findDelay(error, failed, rules);
            return delayMs === undefined ? undefined : { ...first, delayMs };
          },
          toFinish: (chunk) => chunk,
          toLast: (fault) => fault,
        },
        call,
      );
    },
  };
}

type Rules = ReturnType<typeof toRules>;

function toRules(options: RetryOptions): { readonly [Name in keyof RetryOptions]-?: NonNullable<RetryOptions[Name]> } {
  const { maxAttempts = 3, baseDelayMs = 500, maxDelayMs = 30_000, maxRetryAfterMs = 60_000, random = Math.random } = options;
  return { maxAttempts, baseDelayMs, maxDelayMs, maxRetryAfterMs, random };
}

/** How long to wait after so many failures; undefined where the error is final. */
function findDelay({ code, retryable, retryAfterMs = 0 }: ProviderError, failed: number, rules: Rules): number | undefined {
  if (!retryable || final.has(code) || failed >= rules.maxAttempts || retryAfterMs > rules.maxRetryAfterMs) return undefined;
  const longestMs = Math.min(rules.maxDelayMs, rules.baseDelayMs * 2 ** (failed - 1));
  const drawn = rules.random();
  const share = drawn > 0 ? Math.min(1, drawn) : 0;
  return Math.ceil(Math.max(retryAfterMs, (longestMs * (1 + share)) / 2));
}
