// Stage 01: one provider stream, from the request to a plain-data result. Nothing a provider does escapes it.

import type { EventSink } from "../contract/loop-event.ts";
import type { ModelRequest, Provider } from "../contract/provider.ts";
import type { StreamResult } from "../contract/stream-result.ts";
import type { Pricing } from "../contract/usage.ts";
import { toProviderError } from "../errors/provider-error.ts";
import { assertNever } from "../kit/assert-never.ts";
import { isThenable } from "../kit/is-thenable.ts";
import { toPlainError } from "../kit/plain-error.ts";
import { addCost } from "../state/add-usage.ts";
import { endingOfCause } from "../state/ending-of-cause.ts";
import { judgeFinish, type Judgement, type TurnContent } from "../state/judge-finish.ts";
import { guardStream, type GuardPorts, type StreamEnd } from "./guard-stream.ts";
import { type Spending, StreamDraft } from "./stream-draft.ts";

/** What stage 01 uses of a run. */
export interface StreamPorts extends GuardPorts {
  readonly provider: Provider;
  readonly events: EventSink;
  /** Call ids in use, so that each new one is unique in the transcript. */
  readonly heldIds: ReadonlySet<string>;
  /** What earlier hops of the same turn left. Default nothing. */
  readonly carried?: (TurnContent & { readonly callCount: number }) | undefined;
  readonly pricing?: Pricing | undefined;
}

/**
 * Streams one pass and says how it ended. Never rejects: a provider that throws, stalls, or ends without a finish gives a result
 * with `status` "error" or "timeout", and what it had said before is in it.
 *
 * @example
 * const result = await streamOnce({ messages, tools: [], iteration: 0 }, { provider, clock, timeouts, scope, events, heldIds });
 */
export function streamOnce(request: ModelRequest, ports: StreamPorts): Promise<StreamResult> {
  const startedAt = ports.clock.now();
  const draft = new StreamDraft(request, ports);
  return guardStream(draft, ports).then((end) => toResult(draft, end, { request, ports, startedAt }));
}

interface Pass {
  readonly request: ModelRequest;
  readonly ports: StreamPorts;
  readonly startedAt: number;
}

function toResult(draft: StreamDraft, end: StreamEnd, { request, ports, startedAt }: Pass): StreamResult {
  const { usage, text } = draft;
  const { carried } = ports;
  const calls = draft.calls(createIds(request.iteration, ports));
  const turn = { text: text.trim() !== "" || carried?.text === true, calls: calls.length > 0 || carried?.calls === true };
  const { status, reason } = judgeEnd(end, draft, turn);
  // Written out field by field: an object made by spreading takes many times the memory, and a long run keeps thousands of these.
  return {
    status,
    reason,
    text,
    reasoning: draft.reasoning,
    details: draft.details,
    thoughtLog: draft.thoughtLog,
    calls,
    finish: draft.finish,
    token: draft.token,
    native: draft.native,
    usage,
    costUSD: costOf(draft, ports),
    provider: draft.provider,
    model: draft.model,
    family: draft.family,
    exposedTools: namesOf(request.tools),
    error: reason?.kind === "provider-error" ? reason.error : undefined,
    durationMs: ports.clock.now() - startedAt,
  };
}

function judgeEnd(end: StreamEnd, draft: StreamDraft, turn: TurnContent): Judgement {
  switch (end.kind) {
    case "ended":
      return judgeFinish(draft.finish, turn, draft.finishRaw);
    case "failed":
      return { status: "error", reason: { kind: "provider-error", error: draft.error ?? toProviderError(end.error) } };
    case "silent":
      return { status: "timeout", reason: { kind: end.phase, limitMs: end.limitMs } };
    case "cancelled":
      return endingOfCause(end.cause);
    default:
      return assertNever(end);
  }
}

/** Gives each call the provider's id where that is usable, else one from its position; unique in the transcript. */
function createIds(iteration: number, { heldIds, carried }: StreamPorts): (index: number, id: string | undefined) => string {
  let taken: Set<string> | undefined;
  const first = carried?.callCount ?? 0;
  return (index, id) => {
    let callId = id ?? "";
    for (let copy = 0; callId === "" || heldIds.has(callId) || taken?.has(callId) === true; copy += 1) {
      callId = `call_p${iteration}_${first + index}${copy === 0 ? "" : `_${copy}`}`;
    }
    taken ??= new Set();
    taken.add(callId);
    return callId;
  };
}

/** Each attempt at the prices of who made it. Unknown where one of them is. */
function costOf({ spendings, iteration }: StreamDraft, ports: StreamPorts): number | undefined {
  let sum = ports.pricing === undefined ? undefined : 0;
  for (const spending of spendings) sum = addCost(sum, priceOf(spending, iteration, ports));
  return sum;
}

/** A price list that throws does not know the price. */
function priceOf({ usage, provider, model }: Spending, iteration: number, { pricing, events }: StreamPorts): number | undefined {
  if (usage === undefined) return undefined;
  try {
    const cost: unknown = pricing?.(usage, { provider, model });
    if (isThenable(cost)) {
      cost.then(undefined, () => {});
      throw new TypeError("pricing must answer at once, not with a promise.");
    }
    return typeof cost === "number" && Number.isFinite(cost) ? cost : undefined;
  } catch (error) {
    events.send({ type: "listener-error", runId: events.runId, iteration, event: "pricing", error: toPlainError(error) });
    return undefined;
  }
}

const namesByTools = new WeakMap<readonly { readonly name: string }[], readonly string[]>();

/** One array of names per array of tools, so that a long run does not hold thousands of copies. */
function namesOf(tools: ModelRequest["tools"]): readonly string[] {
  let names = namesByTools.get(tools);
  if (names === undefined) {
    names = tools.map((tool) => tool.name);
    namesByTools.set(tools, names);
  }
  return names;
}
