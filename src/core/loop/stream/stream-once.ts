// Stage 01: one provider stream, from the request to a plain-data result. Nothing a provider does escapes it.

import type { EventSink } from "../../types/loop-event.ts";
import type { ModelRequest, Provider, StreamResult } from "../../types/provider.ts";
import type { ToolCall } from "../../types/tool-outcome.ts";
import type { Pricing } from "../../types/common.ts";
import { toProviderError } from "../../errors/provider-error.ts";
import { assertNever } from "../../utils/guards.ts";
import { memoize } from "../../utils/promises.ts";
import { addCost } from "../../utils/count-usage.ts";
import { costOf } from "../state/apply-call.ts";
import { endingOfReason } from "../../cancellation/cancel-scope.ts";
import { judgeFinish, type Judgement, type MessageContent } from "../../providers/judge-finish.ts";
import type { EagerPorts } from "./eager-calls.ts";
import { type GuardPorts, guardStream, type StreamEnd } from "../../providers/guard-stream.ts";
import { type DraftPorts, StreamDraft } from "./stream-draft.ts";

/** The part of a run that stage 1 uses. */
export interface StreamPorts extends GuardPorts {
  readonly provider: Provider;
  readonly events: EventSink;
  /** Call ids in use, so that each new one is unique in the transcript. */
  readonly heldIds: ReadonlySet<string>;
  /** The places of all calls of the run that events have named, by id. Default: none were. */
  readonly places?: Map<string, number> | undefined;
  /** The parts from earlier continuations of the same message. Default none. */
  readonly carried?: { readonly text: boolean; readonly callCount: number } | undefined;
  readonly pricing?: Pricing | undefined;
  /** Starts calls while the stream goes on. Default: none is. */
  readonly eager?: EagerPorts | undefined;
  /** The limit that leaves no other request after attempts that have used so much. Default: none does. */
  readonly findSpent?: DraftPorts["findSpent"];
}

/**
 * Streams one iteration and says how it ended. Never rejects: a provider that throws, stalls, or ends without a finish gives a result
 * with `status` "error" or "timeout", and what it had said before is in it.
 *
 * @example
 * const result = await streamOnce({ messages, tools: [], iteration: 0 }, { provider, clock, timeouts, scope, events, heldIds });
 */
export function streamOnce(request: ModelRequest, ports: StreamPorts): Promise<StreamResult> {
  const startedAt = ports.clock.now();
  const draft = new StreamDraft(request, ports);
  return guardStream(draft, ports).then((end) => {
    const calls = draft.endCalls();
    const facts = { request, ports, calls, durationMs: ports.clock.now() - startedAt };
    const eager = draft.settleEager(calls);
    return eager === undefined
      ? toResult(draft, end, facts)
      : eager.then((early) => ({ ...toResult(draft, end, facts), ...early }));
  });
}

const nothingCarried = { text: false, callCount: 0 };

interface Iteration {
  readonly request: ModelRequest;
  readonly ports: StreamPorts;
  readonly calls: readonly ToolCall[];
  readonly durationMs: number;
}

function toResult(draft: StreamDraft, end: StreamEnd, { request, ports, calls, durationMs }: Iteration): StreamResult {
  const { usage, text } = draft;
  const { costUSD, unpriced } = costOfAttempts(draft, ports);
  const { carried = nothingCarried } = ports;
  const turn = { text: text.trim() !== "" || carried.text, calls: calls.length + carried.callCount > 0 };
  const judged = judgeEnd(end, draft, turn);
  const error = judged.reason?.kind === "provider-error" ? judged.reason.error : undefined;
  // The stream failed because it was not to be tried again.
  const { status, reason } =
    error === undefined || draft.spent === undefined ? judged : { status: "error" as const, reason: draft.spent };
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
    providerMetadata: draft.providerMetadata,
    usage,
    costUSD,
    unpriced,
    provider: draft.provider,
    model: draft.model,
    family: draft.family,
    visibleTools: namesOf(request.tools),
    error,
    durationMs,
  };
}

function judgeEnd(end: StreamEnd, draft: StreamDraft, turn: MessageContent): Judgement {
  switch (end.kind) {
    case "ended":
      return judgeFinish(draft.finish, turn, draft.finishRaw);
    case "failed":
      return { status: "error", reason: { kind: "provider-error", error: draft.error ?? toProviderError(end.error) } };
    case "silent":
      return { status: "timeout", reason: { kind: end.phase, limitMs: end.limitMs } };
    case "cancelled":
      return endingOfReason(end.cause);
    default:
      return assertNever(end);
  }
}

/** Each attempt at the prices of who made it. Unknown where one of them is: `unpriced` is the first. */
function costOfAttempts({ spendings, iteration }: StreamDraft, ports: StreamPorts): Pick<StreamResult, "costUSD" | "unpriced"> {
  if (ports.pricing === undefined) return {};
  let costUSD: number | undefined = 0;
  let unpriced: StreamResult["unpriced"];
  for (const { usage, provider, model } of spendings) {
    const cost = costOf(usage, { provider, model, iteration }, ports);
    const isKnown = typeof cost === "number";
    if (!isKnown) unpriced ??= { provider, model, why: cost };
    costUSD = addCost(costUSD, isKnown ? cost : undefined);
  }
  return { costUSD, unpriced };
}

/** One array of names per array of tools, so that a long run does not hold thousands of copies. */
const namesOf = /* @__PURE__ */ memoize((tools: ModelRequest["tools"]): readonly string[] => tools.map(({ name }) => name));
