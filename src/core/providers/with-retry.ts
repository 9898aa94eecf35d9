import type { ProviderError, ProviderErrorCode } from "../types/common.ts";
import type { Provider } from "../types/provider.ts";
import { type Check, checkFields, type Checks, is, isWithin } from "../../shared/errors/check-fields.ts";
import { assertProvider } from "../../shared/errors/provider-checks.ts";
import { maxTimerMs } from "../../shared/signals.ts";
import { wrapProvider } from "../../shared/wrap-provider.ts";
import { streamAttempts } from "./stream-attempts.ts";

/** The number of attempts for a request, and the delays between them. */
export interface RetryOptions {
  /** The maximum number of requests for one stream, including the first. A whole number of at least 1. Default 3. */
  readonly maxAttempts?: number | undefined;
  /** The longest wait before the second request, in milliseconds. The wait doubles before each additional request. Default 500. */
  readonly baseDelayMs?: number | undefined;
  /** The upper limit for the doubled waits, in milliseconds. Default 30,000. */
  readonly maxDelayMs?: number | undefined;
  /**
   * The longest wait that a service may request, in milliseconds. If the service requests a longer wait, there is no retry.
   * Default 60,000.
   */
  readonly maxRetryAfterMs?: number | undefined;
  /**
   * Returns a number from 0 to 1. With 0, a wait is half of its maximum; with 1, the maximum. Random waits keep many
   * clients from retrying at the same moment. Default `Math.random`.
   */
  readonly random?: (() => number) | undefined;
}

const delay: Check = [
  `a whole number of milliseconds from 0 to ${maxTimerMs}`,
  (value) => isWithin(value, { min: 0, max: maxTimerMs, infinite: false }),
];

const checks: Checks<RetryOptions> = {
  maxAttempts: { min: 1, infinite: false },
  baseDelayMs: delay,
  maxDelayMs: delay,
  maxRetryAfterMs: delay,
  random: is.fn,
};

/** Errors that a repeated request would cause again, even if the service marks them as retryable. */
const final: ReadonlySet<ProviderErrorCode> = new Set([
  "auth",
  "bad-request",
  "context-too-long",
  "request-changed",
  "content-filter",
]);

/**
 * Creates a provider that retries a request after a `retryable` error, whether it is thrown or arrives in the stream. There is no retry if
 * the attempt has already emitted text, reasoning or a call. The stream then ends with the error.
 *
 * A stream without a finish reason, or with the finish reason "error", also counts as a retryable error. The finish reason
 * "unknown" and the codes `auth`, `bad-request`, `context-too-long`, `request-changed` and `content-filter` are never retried. If
 * the run is stopped or aborted, there is no retry. A silent stream is not retried: the silence ends the iteration.
 *
 * The wait is between half and the full value of `baseDelayMs`, which doubles with each attempt up to `maxDelayMs`. If the service requests
 * a longer wait, that wait is used. If no retry follows, the error is passed on unchanged. Each attempt emits the `attempt-start`
 * chunk, and each failed attempt that is retried emits `attempt-discarded`. The usage of failed attempts is counted.
 *
 * The OpenAI and Anthropic SDKs retry automatically. Set `maxRetries: 0` in their clients. Otherwise, the attempts multiply.
 *
 * Throws LoopError "invalid-option" or "unknown-option" if an argument is invalid.
 *
 * @example
 * const provider = withRetry(openaiChat({ client: new OpenAI({ maxRetries: 0 }), model: "gpt-5-mini" }), { maxAttempts: 5 });
 */
export function withRetry(provider: Provider, options: RetryOptions = {}): Provider {
  assertProvider("provider", provider);
  checkFields("options", options, checks);
  const rules = toRules(options);
  return wrapProvider(provider, {
    stream: (request, call) => {
      let failed = 0;
      const first = { provider, request, isFinal: true };
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
  });
}

type Rules = ReturnType<typeof toRules>;

function toRules(options: RetryOptions): { readonly [Name in keyof RetryOptions]-?: NonNullable<RetryOptions[Name]> } {
  const { maxAttempts = 3, baseDelayMs = 500, maxDelayMs = 30_000, maxRetryAfterMs = 60_000, random = Math.random } = options;
  return { maxAttempts, baseDelayMs, maxDelayMs, maxRetryAfterMs, random };
}

function findDelay({ code, retryable, retryAfterMs = 0 }: ProviderError, failed: number, rules: Rules): number | undefined {
  if (!retryable || final.has(code) || failed >= rules.maxAttempts || retryAfterMs > rules.maxRetryAfterMs) return undefined;
  const maxMs = Math.min(rules.maxDelayMs, rules.baseDelayMs * 2 ** (failed - 1));
  const drawn = rules.random();
  const share = drawn > 0 ? Math.min(1, drawn) : 0;
  return Math.ceil(Math.max(retryAfterMs, (maxMs * (1 + share)) / 2));
}
