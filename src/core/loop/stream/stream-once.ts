// Stage 1: one provider stream, from the request to a plain-data result. Errors of a provider become results.

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
import { type GuardPorts, type StreamEnd, StreamGuard } from "../../providers/guard-stream.ts";
import { type DraftPorts, StreamDraft } from "./stream-draft.ts";

/** The part of a run that stage 1 uses. */
export interface StreamPorts extends GuardPorts {
  readonly provider: Provider;
  readonly events: EventSink;
  /** Call ids in use. Each new id is unique in the transcript. */
  readonly heldIds: ReadonlySet<string>;
  /** The positions of all calls that events have named, by id. Default: none. */
  readonly places?: Map<string, number> | undefined;
  /** The parts from earlier continuations of the same message. Default none. */
  readonly carried?: { readonly text: boolean; readonly callCount: number } | undefined;
  readonly pricing?: Pricing | undefined;
  /** Starts calls during the stream. Default: no call starts early. */
  readonly eager?: EagerPorts | undefined;
  /** Returns the limit that prevents another request after these attempts. Default: none. */
  readonly findSpent?: DraftPorts["findSpent"];
}

/**
 * Streams one iteration and resolves to its result. Never rejects. A provider that throws, stalls, or ends without a finish gives
 * a result with `status` "error" or "timeout", and with the content so far.
 *
 * @example
 * const result = await streamOnce({ messages, tools: [], iteration: 0 }, { provider, clock, timeouts, scope, events, heldIds });
 */
export function streamOnce(request: ModelRequest, ports: StreamPorts): Promise<StreamResult> {
  const startedAt = ports.clock.now();
  const draft = new StreamDraft(request, ports);
  return new StreamGuard(draft, ports).run().then((end) => {
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
  // The stream failed because a limit prevented another attempt.
  const { status, reason } =
    error === undefined || draft.spent === undefined ? judged : { status: "error" as const, reason: draft.spent };
  // Written out field by field: spread objects take many times the memory, and a long run keeps thousands of these.
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

/** Prices each attempt for its own provider and model. The sum is unknown if one is; `unpriced` is the first of them. */
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

/** One array of names per array of tools, so that a long run does not keep thousands of copies. */
const namesOf = /* @__PURE__ */ memoize((tools: ModelRequest["tools"]): readonly string[] => tools.map(({ name }) => name));
