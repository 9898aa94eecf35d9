import type { Message } from "../types/message.ts";
import type { ModelCall, ModelRequest, Provider } from "../types/provider.ts";
import { checkFields, type Checks, timeLimit } from "../../shared/errors/check-fields.ts";
import { invalidOption } from "../../shared/errors/loop-error.ts";
import { assertProvider } from "../../shared/errors/provider-checks.ts";
import { isResent } from "../../shared/judge-finish.ts";
import type { Fault, PlannedAttempt } from "./attempt-reader.ts";
import { type AttemptPlan, streamAttempts } from "./stream-attempts.ts";
import { type Ability, wrapProvider } from "../../shared/wrap-provider.ts";

/** The options for `withFallback`: when the next provider is tried, and how long a failed provider is avoided. */
export interface FallbackOptions {
  /**
   * The longest wait for the first chunk, in milliseconds. Applies to every provider except the last one. Default: the run's
   * `timeouts`.
   */
  readonly firstChunkMs?: number | undefined;
  /**
   * The longest silence after the first chunk, in milliseconds. Applies to every provider except the last one. Default: the
   * run's `timeouts`.
   */
  readonly streamIdleMs?: number | undefined;
  /** How long a failed provider is tried only after all others, in milliseconds. Default 0. */
  readonly cooldownMs?: number | undefined;
}

const checks: Checks<FallbackOptions> = {
  firstChunkMs: timeLimit,
  streamIdleMs: timeLimit,
  cooldownMs: { min: 0 },
};

/**
 * Creates a provider that tries the first of `providers`, and the next one each time an attempt fails. An attempt fails in these cases:
 *
 * - An error of any kind is thrown, or arrives in the stream.
 * - The stream ends without a finish reason.
 * - The stream is silent for too long.
 *
 * If text was already emitted, the `attempt-discarded` chunk revokes it. An empty answer, a refusal and a filtered prompt are not failures.
 * If the run is stopped or aborted, no other provider is tried.
 *
 * Each attempt receives the same request, with all tool results, so no tool runs again. The `attempt-start` chunk names the current
 * provider, whose prices, usage, family and provider metadata then apply. Two clients with the same provider id and model can read each
 * other's provider metadata. An error is only passed on if no provider remains. The stream then ends with the final attempt's error, whose
 * message says how many providers failed. The run's own time limits apply to the last provider. If a provider pauses its message, only that
 * provider continues the message.
 *
 * The new provider has the `id`, `model` and `family` of the first provider. It has `compacts`, `searchesTools` and
 * `structuresOutput` only if all providers have them. Throws LoopError "invalid-option" or "unknown-option" if an argument is
 * invalid.
 *
 * @example
 * const provider = withFallback([anthropic, withRetry(openai)], { firstChunkMs: 20_000, cooldownMs: 60_000 });
 */
export function withFallback(providers: readonly Provider[], options: FallbackOptions = {}): Provider {
  const [first, ...others] = checkProviders(providers);
  checkFields("options", options, checks);
  const roster = new Roster([first, ...others], options.cooldownMs ?? 0);
  const { firstChunkMs, streamIdleMs } = options;
  const haveAll = (ability: Ability): true | undefined => providers.every((provider) => provider[ability] === true) || undefined;
  return wrapProvider(first, {
    compacts: haveAll("compacts"),
    // True only if all providers search deferred tools. Otherwise, requests must contain a search tool.
    searchesTools: haveAll("searchesTools"),
    // True only if all providers send the answer's schema. Otherwise, the system text must contain instructions for it.
    structuresOutput: haveAll("structuresOutput"),
    stream: (request, call) => {
      const { timeouts } = call;
      const patience = {
        firstChunkMs: firstChunkMs ?? timeouts.firstChunkMs,
        streamIdleMs: streamIdleMs ?? timeouts.streamIdleMs,
      };
      return streamAttempts(planFallback(roster, { request, call, patience }), call);
    },
  });
}

type Providers = readonly [Provider, ...Provider[]];

function checkProviders(providers: unknown): Providers {
  if (!isList(providers)) throw invalidOption("providers", "a non-empty array of providers", providers);
  for (const [index, provider] of providers.entries()) assertProvider(`providers[${index}]`, provider);
  return providers;
}

function isList(value: unknown): value is Providers {
  return Array.isArray(value) && value.length > 0;
}

class Roster {
  readonly providers: Providers;
  readonly #cooldownMs: number;
  /** For each provider, by position, the time until which it is tried only after the others. Measured with the call's clock. */
  readonly #restUntil: number[];

  constructor(providers: Providers, cooldownMs: number) {
    this.providers = providers;
    this.#cooldownMs = cooldownMs;
    this.#restUntil = providers.map(() => Number.NEGATIVE_INFINITY);
  }

  /**
   * Returns the providers' positions in the order in which to try them. First comes the provider that must continue its own message.
   * Last come the providers that failed recently.
   */
  toOrder(messages: readonly Message[], now: number): readonly number[] {
    const ranks = this.providers.map((provider, position) => {
      if (isAuthor(provider, messages.at(-1))) return 0;
      return (this.#restUntil[position] ?? now) > now ? 2 : 1;
    });
    return [0, 1, 2].flatMap((rank) => ranks.flatMap((own, position) => (own === rank ? [position] : [])));
  }

  rest(position: number, now: number): void {
    if (this.#cooldownMs > 0) this.#restUntil[position] = now + this.#cooldownMs;
  }
}

function isAuthor({ id, model }: Provider, last: Message | undefined): boolean {
  const part = last?.role === "assistant" ? last.providerMetadata?.at(-1) : undefined;
  return part?.provider === id && part.model === model;
}

interface Asking {
  readonly request: ModelRequest;
  readonly call: ModelCall;
  readonly patience: NonNullable<PlannedAttempt["patience"]>;
}

function planFallback(roster: Roster, asking: Asking): AttemptPlan {
  const { call, patience } = asking;
  const { position: author, token } = readToken(asking.request.continuationToken);
  const request = author === undefined ? asking.request : { ...asking.request, continuationToken: token };
  const isAlone = author !== undefined && author < roster.providers.length;
  const order = isAlone ? [author] : roster.toOrder(request.messages, call.clock.now());
  let asked = 0;
  let failed = 0;
  let current = 0;
  const askNext = (): PlannedAttempt => {
    current = order[asked] ?? 0;
    asked += 1;
    const provider = roster.providers[current] ?? roster.providers[0];
    return asked < order.length ? { provider, request, patience } : { provider, request, isFinal: true };
  };
  return {
    first: askNext(),
    next: ({ error }) => {
      // Does not try another service, because no other service should receive the filtered prompt.
      if (error.code === "content-filter") return undefined;
      failed += 1;
      roster.rest(current, call.clock.now());
      return asked < order.length ? askNext() : undefined;
    },
    toFinish: (chunk) => (isResent(chunk.reason) ? { ...chunk, token: writeToken(current, chunk.token) } : chunk),
    toLast: (fault) => (failed === 1 ? fault : countFailed(fault, failed, order.length)),
  };
}

/**
 * Adds the number of failed providers to the error message. Some providers were not tried if the run's limits allowed no
 * more requests.
 */
function countFailed({ error }: Fault, failed: number, all: number): Fault {
  const count = failed === all ? `All ${all}` : `${failed} of ${all}`;
  const told = { ...error, message: `${count} providers failed; the last error: ${error.message}` };
  return { error: told, as: { kind: "chunk", chunk: { type: "error", error: told } } };
}

const tokenPattern = /^turnwright-fallback:(\d{1,9})(?::([^]*))?$/;

interface Continuation {
  readonly position: number | undefined;
  readonly token: string | undefined;
}

function writeToken(position: number, token: string | undefined): string {
  return token === undefined ? `turnwright-fallback:${position}` : `turnwright-fallback:${position}:${token}`;
}

function readToken(written: string | undefined): Continuation {
  const match = written === undefined ? null : tokenPattern.exec(written);
  return match === null ? { position: undefined, token: written } : { position: Number(match[1]), token: match[2] };
}
