import { checkFields } from "../core/kit.ts";
import type { LoopEvents, Usage } from "../core/index.ts";
import type { EventMapper } from "../web/chunk-batches.ts";
import { type NestedEvent, PageMapper, selectChunks } from "../web/page-mapper.ts";
import { failedStatuses, toFailureText } from "../web/page-values.ts";
import type { AGUIEvent, AGUIInterrupt, AGUIOutcome, AGUIRunIds, AGUIUsage } from "./ag-ui-event.ts";
import { type AGUIOptions, optionChecks } from "./ag-ui-options.ts";
import { AGUIRun, type RunPlace } from "./ag-ui-run.ts";
import { NestedRuns } from "./nested-runs.ts";
import { toPrefix } from "./page-ids.ts";
import { toInterrupt } from "./to-interrupts.ts";
import { waitingCallsOf } from "../shared/wait-ids.ts";

/** Converts a run's events to AG-UI events, one at a time. */
export type AGUIMapper = EventMapper<AGUIEvent>;

/**
 * Creates a mapper that produces the same AG-UI events as `toAGUIStream`. Use the mapper to send these events in a different way, for
 * example over a WebSocket. Throws LoopError "invalid-option" or "unknown-option" if an option is invalid.
 *
 * @example
 * const mapper = createAGUIMapper({ threadId, runId });
 * for await (const event of events) for (const sent of mapper.map(event)) socket.send(JSON.stringify(sent));
 * for (const sent of mapper.end()) socket.send(JSON.stringify(sent));
 */
export function createAGUIMapper(options: AGUIOptions = {}): AGUIMapper {
  checkFields("options", options, optionChecks);
  return selectChunks(new EntryMapper(options), options);
}

class OutermostRun extends AGUIRun {
  /** The loop's `runId`, which is part of the call ids on the page. The AG-UI request's `runId` is in `ids`. */
  readonly runId: string;
  readonly ids: AGUIRunIds;
  readonly nested: NestedRuns;

  constructor(runId: string, place: RunPlace) {
    super(place);
    const { options } = place;
    this.runId = runId;
    this.ids = { threadId: options.threadId ?? runId, runId: options.runId ?? runId };
    this.nested = new NestedRuns({ ...place, events: this });
  }
}

export class EntryMapper extends PageMapper<AGUIEvent, OutermostRun> {
  readonly #options: AGUIOptions;

  constructor(options: AGUIOptions) {
    super();
    this.#options = options;
  }

  protected start(runId: string): OutermostRun {
    const { version = "1.0", messages } = this.#options;
    const run = new OutermostRun(runId, { prefix: toPrefix(runId), tag: {}, options: this.#options, out: this.out });
    this.send({ type: "RUN_STARTED", ...run.ids, ...(version === "1.0" && { protocolVersion: "1.0" }) });
    if (messages !== undefined) this.send({ type: "MESSAGES_SNAPSHOT", messages: [...messages] });
    return run;
  }

  protected addNested({ nested }: OutermostRun, event: NestedEvent, isSent: boolean): void {
    if (!isSent) nested.add(event);
  }

  protected endsCall({ nested }: OutermostRun, { callId, outcome }: LoopEvents["tool-end"]): boolean {
    return outcome !== "interrupted" || !nested.isSuspended(callId);
  }

  protected finish(
    run: OutermostRun | undefined,
    end: LoopEvents["run-end"] | undefined,
    failure: { readonly error: unknown } | undefined,
  ): void {
    const interrupts = run === undefined ? [] : waitingCallsOf(end?.reason).map((call) => this.#interruptOf(call, run));
    run?.nested.close(interrupts);
    if (run !== undefined && end !== undefined) return this.send(this.#toEnd(run.ids, end, interrupts));
    const code = failure === undefined ? "cut-off" : "failed";
    const thrown = { kind: "thrown", error: failure?.error ?? new Error("The events ended before the run did.") } as const;
    this.send({ type: "RUN_ERROR", message: toFailureText(thrown, this.#options.onError), code });
  }

  #interruptOf(call: Parameters<typeof toInterrupt>[0], { runId, nested }: OutermostRun): AGUIInterrupt {
    const interrupt = toInterrupt(call, runId);
    const path = (interrupt.toolCallId ?? "").slice(toPrefix(runId).length).split("/");
    if (path.length === 1) return interrupt;
    if (this.#options.version === "0.0") return { ...interrupt, toolCallId: toPrefix(runId) + (path[0] ?? "") };
    const subagentRunId = nested.runIdAt(path.slice(0, -1).join("/"));
    return { ...interrupt, ...(subagentRunId !== undefined && { subagentRunId }) };
  }

  #toEnd(ids: AGUIRunIds, end: LoopEvents["run-end"], interrupts: AGUIInterrupt[]): AGUIEvent {
    const { status, reason, usage, costUSD } = end;
    if (failedStatuses.has(status)) {
      const message = toFailureText({ kind: "run", status, reason }, this.#options.onError);
      return { type: "RUN_ERROR", message, code: reason.kind };
    }
    const result = { status, reason: reason.kind, usage, ...(costUSD !== undefined && { costUSD }) };
    const isOld = this.#options.version === "0.0";
    const outcome: AGUIOutcome =
      interrupts.length > 0
        ? { type: "interrupt", interrupts }
        : { type: status === "stopped-by-user" && !isOld ? "cancelled" : "success" };
    return { type: "RUN_FINISHED", ...ids, result, outcome, ...(!isOld && { usage: [toUsage(usage)] }) };
  }
}

function toUsage({ cacheWriteTokens, ...usage }: Usage): AGUIUsage {
  const { inputTokens, outputTokens, totalTokens, cachedInputTokens, reasoningTokens } = usage;
  return {
    inputTokens,
    outputTokens,
    totalTokens,
    ...(cachedInputTokens !== undefined && { cachedInputTokens }),
    ...(cacheWriteTokens !== undefined && { cacheWriteInputTokens: cacheWriteTokens }),
    ...(reasoningTokens !== undefined && { reasoningTokens }),
  };
}
