// Stage 01: one provider stream, from the request to a plain-data result. Nothing a provider does escapes it.

import type { EventSink } from "../contract/loop-event.ts";
import type { ModelRequest, Provider } from "../contract/provider.ts";
import type { StreamResult } from "../contract/stream-result.ts";
import type { Pricing, Usage } from "../contract/usage.ts";
import { toProviderError } from "../errors/provider-error.ts";
import { assertNever } from "../kit/assert-never.ts";
import { toPlainError } from "../kit/plain-error.ts";
import { endingOfCause } from "../state/ending-of-cause.ts";
import { judgeFinish, type Judgement, type TurnContent } from "../state/judge-finish.ts";
import { guardStream, type GuardPorts, type StreamEnd } from "./guard-stream.ts";
import { StreamDraft } from "./stream-draft.ts";

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
export async function streamOnce(request: ModelRequest, ports: StreamPorts): Promise<StreamResult> {
  const { provider, clock, events } = ports;
  const startedAt = clock.now();
  const { iteration } = request;
  const draft = new StreamDraft({ provider: provider.id, model: provider.model, family: provider.family }, { events, iteration });
  const end = await guardStream({ iteration, open: (call) => provider.stream(request, call), take: (chunk) => draft.take(chunk) }, ports);
  const { usage, answerer } = draft;
  const calls = draft.calls(createIds(iteration, ports));
  const { carried } = ports;
  const turn = { text: draft.text.trim() !== "" || carried?.text === true, calls: calls.length > 0 || carried?.calls === true };
  const judgement = judgeEnd(end, draft, turn);
  return {
    ...judgement,
    text: draft.text,
    reasoning: draft.reasoning,
    details: draft.details,
    thoughtLog: draft.thoughtLog,
    calls,
    finish: draft.finish,
    token: draft.token,
    native: draft.native,
    usage,
    costUSD: usage === undefined ? undefined : costOf(usage, answerer, { ...ports, iteration }),
    provider: answerer.provider,
    model: answerer.model,
    family: answerer.family,
    exposedTools: namesOf(request.tools),
    error: judgement.reason?.kind === "provider-error" ? judgement.reason.error : undefined,
    durationMs: clock.now() - startedAt,
  };
}

function judgeEnd(end: StreamEnd, draft: StreamDraft, turn: TurnContent): Judgement {
  switch (end.kind) {
    case "ended":
      if (draft.error !== undefined) return { status: "error", reason: { kind: "provider-error", error: toProviderError(draft.error) } };
      return judgeFinish(draft.finish, turn, draft.finishRaw);
    case "failed":
      return { status: "error", reason: { kind: "provider-error", error: toProviderError(end.error) } };
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
  const taken = new Set<string>();
  const first = carried?.callCount ?? 0;
  return (index, id) => {
    let callId = id ?? "";
    for (let copy = 0; callId === "" || heldIds.has(callId) || taken.has(callId); copy += 1) {
      callId = `call_p${iteration}_${first + index}${copy === 0 ? "" : `_${copy}`}`;
    }
    taken.add(callId);
    return callId;
  };
}

/** A price list that throws does not know the price. */
function costOf(usage: Usage, model: { provider: string; model: string }, { pricing, events, iteration }: StreamPorts & { iteration: number }): number | undefined {
  try {
    const cost = pricing?.(usage, { provider: model.provider, model: model.model });
    return typeof cost === "number" && Number.isFinite(cost) ? cost : undefined;
  } catch (error) {
    events.send("listener-error", { runId: events.runId, iteration, event: "pricing", error: toPlainError(error) });
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
