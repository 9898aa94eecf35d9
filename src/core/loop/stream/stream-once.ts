import type { EventSink } from "../../types/loop-event.ts";
import type { AttemptSpending, ModelRequest, Provider, StreamResult } from "../../types/provider.ts";
import type { ToolCall } from "../../types/tool-outcome.ts";
import type { Pricing } from "../../types/common.ts";
import { readProviderError } from "../../errors/provider-error.ts";
import { assertNever } from "../../utils/guards.ts";
import { memoize } from "../../utils/promises.ts";
import { noUsage } from "../../utils/count-usage.ts";
import { costOf } from "../run/pricing.ts";
import { endingOfReason } from "../../cancellation/cancel-scope.ts";
import { judgeFinish, type Judgement, type MessageContent } from "../../providers/judge-finish.ts";
import type { EagerPorts } from "./eager-calls.ts";
import { type GuardPorts, type StreamEnd, StreamGuard } from "../../providers/guard-stream.ts";
import { type DraftPorts, StreamDraft } from "./stream-draft.ts";

/** The parts of a run that one stream needs. */
export interface StreamPorts extends GuardPorts {
  readonly provider: Provider;
  readonly events: EventSink;
  /** The call ids in the transcript, which new calls must not reuse. */
  readonly heldIds: ReadonlySet<string>;
  /** The position of each call that events have mentioned so far, by call id. Default: none. */
  readonly places?: Map<string, number> | undefined;
  /**
   * Set if the stream continues a message. `callCount` is the number of earlier calls in the message, and `text` is true if the
   * message already has text.
   */
  readonly carried?: { readonly text: boolean; readonly callCount: number } | undefined;
  readonly pricing?: Pricing | undefined;
  /** Starts calls while the model is still streaming. Default: calls start after the message is complete. */
  readonly eager?: EagerPorts | undefined;
  /** Returns the limit that prevents another request after these attempts. Default: no limit. */
  readonly findSpent?: DraftPorts["findSpent"];
  /** Watches the requests that the provider sends. Default: not watched. */
  readonly cacheWatcher?: DraftPorts["cacheWatcher"];
}

/**
 * Streams one response of the model. Resolves to its result, and never rejects. If a provider throws an error, stalls, or ends
 * its stream without a finish, the `status` is "error" or "timeout". The result then contains the content received so far.
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
  const { carried = nothingCarried } = ports;
  const turn = { text: draft.text.trim() !== "" || carried.text, calls: calls.length + carried.callCount > 0 };
  const judged = judgeEnd(end, draft, turn);
  const error = judged.reason?.kind === "provider-error" ? judged.reason.error : undefined;
  if (error !== undefined) draft.endAttempt(error);
  const { usage, text, spendings } = draft;
  const { costUSD, knownCostUSD, unpriced } = costOfAttempts(spendings, draft.iteration, ports);
  // If a limit prevented another attempt, report this limit instead of the error.
  const { status, reason } =
    error === undefined || draft.spent === undefined ? judged : { status: "error" as const, reason: draft.spent };
  // Lists each field, because objects from a spread use much more memory, and a long run keeps thousands of results.
  return {
    status,
    reason,
    text,
    reasoning: draft.reasoning,
    order: draft.order,
    details: draft.details,
    thoughtLog: draft.thoughtLog,
    calls,
    discardedIds: draft.discardedIds,
    finish: draft.finish,
    token: draft.token,
    providerMetadata: draft.providerMetadata,
    usage,
    lastUsage: spendings.length > 1 ? (spendings.at(-1)?.usage ?? noUsage) : undefined,
    costUSD,
    knownCostUSD,
    unpriced,
    provider: draft.provider,
    model: draft.model,
    family: draft.family,
    visibleTools: namesOf(request.tools),
    error,
    adjustments: draft.adjustments,
    cache: draft.watch?.read(spendings, (spent, by) => costOf(spent, { ...by, iteration: draft.iteration }, ports)),
    durationMs,
  };
}

function judgeEnd(end: StreamEnd, draft: StreamDraft, turn: MessageContent): Judgement {
  switch (end.kind) {
    case "ended":
      return judgeFinish(draft.finish, turn, draft.finishRaw);
    case "failed":
      return { status: "error", reason: { kind: "provider-error", error: draft.error ?? readProviderError(end.error) } };
    case "timed-out":
      return { status: "timeout", reason: { kind: end.phase, limitMs: end.limitMs } };
    case "cancelled":
      return endingOfReason(end.cause);
    default:
      return assertNever(end);
  }
}

/**
 * Computes the cost of each attempt with its own provider and model. The sum is undefined if any cost is unknown. `knownCostUSD`
 * is then the sum of the known costs, and `unpriced` is the first attempt with an unknown cost.
 */
function costOfAttempts(
  spendings: readonly AttemptSpending[],
  iteration: number,
  ports: StreamPorts,
): Pick<StreamResult, "costUSD" | "knownCostUSD" | "unpriced"> {
  if (ports.pricing === undefined) return {};
  let known = 0;
  let unpriced: StreamResult["unpriced"];
  for (const { usage, provider, model } of spendings) {
    const cost = costOf(usage, { provider, model, iteration }, ports);
    if (typeof cost === "number") known += cost;
    else unpriced ??= { provider, model, why: cost };
  }
  if (unpriced === undefined) return { costUSD: known };
  return { unpriced, ...(known > 0 && { knownCostUSD: known }) };
}

/** Memoized by the array of tools, so that a long run does not keep thousands of equal arrays of names. */
const namesOf = /* @__PURE__ */ memoize((tools: ModelRequest["tools"]): readonly string[] => tools.map(({ name }) => name));
