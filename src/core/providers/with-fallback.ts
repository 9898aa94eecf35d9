// A provider that asks the next one where one fails.

import type { Message } from "../types/message.ts";
import type { ModelCall, ModelRequest, Provider } from "../types/provider.ts";
import { checkFields, type Checks, invalidOption, numberWithin, timeLimit } from "../errors/check-fields.ts";
import { assertProvider } from "../errors/provider-error.ts";
import { isResent } from "./judge-finish.ts";
import type { Fault, PlannedAttempt } from "./attempt-reader.ts";
import { type AttemptPlan, streamAttempts } from "./stream-attempts.ts";

/** When a provider is given up, and for how long. */
export interface FallbackOptions {
  /** Longest wait for the first chunk while there is somebody else to ask, in milliseconds. Default: the `timeouts` of the run. */
  readonly firstChunkMs?: number | undefined;
  /** Longest silence after it while there is somebody else to ask, in milliseconds. Default: the `timeouts` of the run. */
  readonly streamIdleMs?: number | undefined;
  /** For how long a provider that has failed is asked after the others, in milliseconds. Default 0. */
  readonly restMs?: number | undefined;
}

const checks: Checks<FallbackOptions> = {
  firstChunkMs: /* @__PURE__ */ numberWithin(timeLimit),
  streamIdleMs: /* @__PURE__ */ numberWithin(timeLimit),
  restMs: /* @__PURE__ */ numberWithin({ min: 0 }),
};

/**
 * Makes a provider that asks the first of `providers`, and the next one where an attempt fails: with an error of any kind, thrown or in
 * the stream, without a finish, or by silence. Also after text was heard, which `attempt-discarded` then takes back. An empty answer, a
 * refusal and a stop are no failures, and nobody is asked after a stop or an abort.
 *
 * The request goes along, with the results of all tools: none runs again. `attempt-start` says who answers, and prices, usage,
 * family and provider metadata follow it. Two clients of one model keep each other's provider metadata. Errors are held back until nobody is
 * left; then the last one is the stream's, and its message says how many were asked. The last one asked has the patience of the run.
 * A turn that a service has paused goes on with that provider alone.
 *
 * Its own `id`, `model` and `family` are those of the first. Throws LoopError "invalid-option" or "unknown-option" at once where an
 * argument is wrong.
 *
 * @example
 * const provider = withFallback([anthropic, withRetry(openai)], { firstChunkMs: 20_000, restMs: 60_000 });
 */
export function withFallback(providers: readonly Provider[], options: FallbackOptions = {}): Provider {
  const [first, ...others] = checkProviders(providers);
  checkFields("options", options, checks);
  const roster = new Roster([first, ...others], options.restMs ?? 0);
  const { firstChunkMs, streamIdleMs } = options;
  const { id, model, family } = first;
  return {
    id,
    model,
    ...(family === undefined ? {} : { family }),
    stream: (request, call) => {
      const { timeouts } = call;
      const patience = {
        firstChunkMs: firstChunkMs ?? timeouts.firstChunkMs,
        streamIdleMs: streamIdleMs ?? timeouts.streamIdleMs,
      };
      return streamAttempts(planFallback(roster, { request, call, patience }), call);
    },
  };
}

type Providers = readonly [Provider, ...Provider[]];

function checkProviders(providers: unknown): Providers {
  if (!isList(providers)) throw invalidOption("providers", "an array of at least one provider", providers);
  for (const [index, provider] of providers.entries()) assertProvider(`providers[${index}]`, provider);
  return providers;
}

function isList(value: unknown): value is Providers {
  return Array.isArray(value) && value.length > 0;
}

/** Positions of the members that may be asked, and of those that failed lately. */
class Roster {
  readonly providers: Providers;
  readonly #restMs: number;
  /** Until when, on the clock of the call, each of them is asked after the others. */
  readonly #restUntil: number[];

  constructor(providers: Providers, restMs: number) {
    this.providers = providers;
    this.#restMs = restMs;
    this.#restUntil = providers.map(() => Number.NEGATIVE_INFINITY);
  }

  /** The order in which to ask: the author of a turn that goes on, then those that do not rest. */
  toOrder(messages: readonly Message[], now: number): readonly number[] {
    const ranks = this.providers.map((provider, position) => {
      if (isAuthor(provider, messages.at(-1))) return 0;
      return (this.#restUntil[position] ?? now) > now ? 2 : 1;
    });
    return [0, 1, 2].flatMap((rank) => ranks.flatMap((own, position) => (own === rank ? [position] : [])));
  }

  rest(position: number, now: number): void {
    if (this.#restMs > 0) this.#restUntil[position] = now + this.#restMs;
  }
}

/** Whether a request ends in the turn of this provider. */
function isAuthor({ id, model }: Provider, last: Message | undefined): boolean {
  const part = last?.role === "assistant" ? last.providerMetadata?.at(-1) : undefined;
  return part?.provider === id && part.model === model;
}

interface Asking {
  readonly request: ModelRequest;
  readonly call: ModelCall;
  /** Of every attempt but the last one. */
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
    return { provider, request, patience: asked < order.length ? patience : undefined };
  };
  return {
    first: askNext(),
    next: () => {
      failed += 1;
      roster.rest(current, call.clock.now());
      return asked < order.length ? askNext() : undefined;
    },
    toFinish: (chunk) => (isResent(chunk.reason) ? { ...chunk, token: writeToken(current, chunk.token) } : chunk),
    toLast: (fault) => (failed === 1 ? fault : countFailed(fault, failed, order.length)),
  };
}

/** If the limits of the run leave no other request, some were never asked. */
function countFailed({ error }: Fault, failed: number, all: number): Fault {
  const count = failed === all ? `All ${all}` : `${failed} of ${all}`;
  const told = { ...error, message: `${count} providers failed; the last one: ${error.message}` };
  return { error: told, as: { kind: "chunk", chunk: { type: "error", error: told } } };
}

const tokenPattern = /^turnwright-fallback:(\d{1,9})(?::([^]*))?$/;

/** The position of the provider that paused the turn, and the token that it gave. */
interface Continuation {
  readonly position: number | undefined;
  readonly token: string | undefined;
}

/** Writes the position of a provider before its token. */
function writeToken(position: number, token: string | undefined): string {
  return token === undefined ? `turnwright-fallback:${position}` : `turnwright-fallback:${position}:${token}`;
}

/** Reads what `writeToken` wrote. Any other token has no position, and stays as it is. */
function readToken(written: string | undefined): Continuation {
  const match = written === undefined ? null : tokenPattern.exec(written);
  return match === null ? { position: undefined, token: written } : { position: Number(match[1]), token: match[2] };
}
