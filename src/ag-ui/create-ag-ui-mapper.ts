import { isSpending, type SpendingEvent } from "../shared/event-table.ts";
import { checkFields } from "../core/kit.ts";
import type { LoopEvent, LoopEvents, Usage } from "../core/index.ts";
import { addToCost, failedStatuses, noCost, type PageCost, toFailureText } from "../web/page-values.ts";
import type { EventItem, EventMapper } from "../web/chunk-batches.ts";
import type { AGUIEvent, AGUIInterrupt, AGUIOutcome, AGUIRunIds, AGUIUsage } from "./ag-ui-event.ts";
import { type AGUIOptions, optionChecks } from "./ag-ui-options.ts";
import type { Entry } from "./outbox.ts";
import { toPrefix } from "./page-ids.ts";
import { RunEvents } from "./run-events.ts";
import { toInterrupt, waitingCallsOf } from "./to-interrupts.ts";

interface NestedRun {
  readonly runId: string;
  readonly path: readonly string[];
  readonly events: RunEvents;
  /** "new" means that the nested run has had no event since its `run-start`. */
  state: "new" | "open" | "suspended" | "over";
  /** True if the start of this nested run was also sent to pages with `from: "live"`. */
  isAnnounced: boolean;
}

export interface OuterRun {
  readonly prefix: string;
  readonly options: AGUIOptions;
  readonly out: Entry[];
  readonly events: RunEvents;
}

class NestedRuns {
  readonly #outer: OuterRun;
  readonly #runs = new Map<string, NestedRun>();

  constructor(outer: OuterRun) {
    this.#outer = outer;
  }

  /**
   * True if the call has a suspended nested run. Such a call ends as `interrupted`, and continues when the outermost run is
   * resumed.
   */
  isSuspended(callId: string): boolean {
    return [...this.#runs.values()].some(({ path, state }) => path[0] === callId && state === "suspended");
  }

  /**
   * Returns the `runId` of the newest nested run of a call. `path` is the ids of the outer calls and of the call itself,
   * outermost first, joined by "/".
   */
  runIdAt(path: string): string | undefined {
    return this.#runAt(path)?.runId;
  }

  #runAt(path: string): NestedRun | undefined {
    return [...this.#runs.values()].findLast((run) => run.path.join("/") === path);
  }

  add(event: LoopEvent, path: readonly string[]): void {
    const run = this.#runOf(event.runId, path);
    if (run.state === "over" || event.type === "run-start") return;
    if (event.type === "run-end") return this.#end(run, event);
    this.#announce(run, event.replayed === true);
    if (this.#isShown) run.events.add(event);
  }

  /** Ends all unfinished nested runs as "suspended", before the outermost run ends. */
  close(interrupts: readonly { readonly id: string; readonly subagentRunId?: string }[]): void {
    for (const run of this.#runs.values()) {
      if (run.state === "over" || run.state === "new") continue;
      if (this.#isShown) run.events.close(true);
      const interruptIds = interrupts.filter(({ subagentRunId }) => subagentRunId === run.runId).map(({ id }) => id);
      const suspended = { type: "suspended", ...(interruptIds.length > 0 && { interruptIds }) } as const;
      this.#push(run, { type: "SUBAGENT_FINISHED", subagentRunId: run.runId, outcome: suspended }, "suspended");
    }
  }

  /**
   * True if the page gets the events of nested runs. A page of version 0.0 gets only the status of each nested run, in `CUSTOM`
   * events.
   */
  get #isShown(): boolean {
    return this.#outer.options.version !== "0.0";
  }

  #runOf(runId: string, path: readonly string[]): NestedRun {
    const known = this.#runs.get(runId);
    if (known !== undefined) return known;
    const { options, out, prefix } = this.#outer;
    const place = { options, out, prefix: `${prefix}${path.join("/")}/`, tag: { subagentRunId: runId } };
    const run: NestedRun = { runId, path, events: new RunEvents(place), state: "new", isAnnounced: false };
    this.#runs.set(runId, run);
    return run;
  }

  #announce(run: NestedRun, isRecalled: boolean): void {
    const wasOpen = run.state !== "new";
    run.state = "open";
    if (run.isAnnounced || (isRecalled && wasOpen)) return;
    run.isAnnounced = !isRecalled;
    const { runId: subagentRunId, path } = run;
    const around = this.runIdAt(path.slice(0, -1).join("/"));
    const isDeep = around !== undefined && path.length > 1;
    const start = {
      type: "SUBAGENT_STARTED",
      subagentRunId,
      name: this.#nameOf(path),
      parentToolCallId: this.#outer.prefix + path.join("/"),
      ...(isDeep && { parentSubagentRunId: around }),
    } as const;
    const audience = isRecalled ? "recalled" : wasOpen ? "again" : "all";
    if (this.#isShown) this.#outer.out.push({ event: start, audience });
    else this.#custom(run, "running", audience);
  }

  #end(run: NestedRun, end: LoopEvents["run-end"]): void {
    const { status, reason } = end;
    if (status === "suspended" && run.state === "open") run.state = "suspended";
    if (run.state !== "open") return;
    run.state = "over";
    if (this.#isShown) run.events.close(false);
    const { runId: subagentRunId } = run;
    const message = toFailureText({ kind: "run", status, reason }, this.#outer.options.onError);
    const event = failedStatuses.has(status)
      ? ({ type: "SUBAGENT_ERROR", subagentRunId, message, code: reason.kind } as const)
      : ({ type: "SUBAGENT_FINISHED", subagentRunId, outcome: { type: "success" } } as const);
    this.#push(run, event, status);
  }

  #push(run: NestedRun, event: AGUIEvent, status: string): void {
    const audience = run.isAnnounced ? "all" : "recalled";
    if (this.#isShown) this.#outer.out.push({ event, audience });
    else this.#custom(run, status, audience);
  }

  #custom({ runId, path }: NestedRun, status: string, audience: Entry["audience"]): void {
    const toolCallId = `${this.#outer.prefix}${path[0] ?? ""}`;
    const value = { subagentRunId: runId, toolCallId, name: this.#nameOf(path), status };
    this.#outer.out.push({ event: { type: "CUSTOM", name: "subagent", value }, audience });
  }

  #nameOf(path: readonly string[]): string {
    const callId = path.at(-1) ?? "";
    const around = path.length === 1 ? this.#outer.events : this.#runAt(path.slice(0, -1).join("/"))?.events;
    return around?.nameOf(callId) ?? callId;
  }
}

/** Converts the events of a run to AG-UI events, one at a time. */
export type AGUIMapper = EventMapper<AGUIEvent>;

/**
 * Creates a mapper that makes the same AG-UI events as `toAGUIStream`. Use the mapper to send these events in another way, for
 * example over a WebSocket. Throws LoopError "invalid-option" or "unknown-option" if an option is invalid.
 *
 * @example
 * const mapper = createAGUIMapper({ threadId, runId });
 * for await (const event of events) for (const sent of mapper.map(event)) socket.send(JSON.stringify(sent));
 * for (const sent of mapper.end()) socket.send(JSON.stringify(sent));
 */
export function createAGUIMapper(options: AGUIOptions = {}): AGUIMapper {
  checkFields("options", options, optionChecks);
  const mapper = new EntryMapper(options);
  const isSent = audienceOf(options);
  const toEvents = (entries: readonly Entry[]): AGUIEvent[] => entries.filter(isSent).map(({ event }) => event);
  return { map: (item) => toEvents(mapper.map(item)), end: (failure) => toEvents(mapper.end(failure)) };
}

/** Returns a filter for one value of the option `from`. The filter keeps the entries that a page with this value gets. */
export function audienceOf({ from }: AGUIOptions): (entry: Entry) => boolean {
  return from === "live" ? ({ audience }) => audience !== "recalled" : ({ audience }) => audience !== "again";
}

interface Mapped {
  readonly ids: AGUIRunIds;
  /** The `runId` of the loop, which is part of the call ids on the page. The `runId` of the AG-UI request is in `ids`. */
  readonly runId: string;
  readonly events: RunEvents;
  readonly nested: NestedRuns;
}

/**
 * Makes the entries for both values of the option `from`, although a page gets only some of them. So the position of an entry
 * does not depend on `from`, and a page may reconnect with the other value.
 */
export class EntryMapper implements EventMapper<Entry> {
  readonly #options: AGUIOptions;
  #out: Entry[] = [];
  #run: Mapped | undefined;
  /**
   * The last AG-UI events of the run. These events are sent only when the source of events ends, because the events of a resumed
   * run may follow.
   */
  #ending: readonly Entry[] | undefined;
  /** True after a resumed run has begun. The resumed run replays events that this stream has already sent. */
  #skipsRecalled = false;
  #cost: PageCost = noCost;

  constructor(options: AGUIOptions) {
    this.#options = options;
  }

  map(item: EventItem): readonly Entry[] {
    const event = "type" in item ? item : item.event;
    const { path } = event;
    if (path === undefined) this.#mapOwn(event);
    else if (!this.#skips(event)) this.#run?.nested.add(event, path);
    return this.#take();
  }

  end(failure?: { readonly error: unknown }): readonly Entry[] {
    const ending = this.#ending;
    this.#ending = undefined;
    if (failure === undefined && ending !== undefined) return ending;
    if (failure === undefined && this.#run === undefined) return [];
    this.#run?.events.close(true);
    this.#run?.nested.close([]);
    const code = failure === undefined ? "cut-off" : "failed";
    const thrown = { kind: "thrown", error: failure?.error ?? new Error("The events ended before the run did.") } as const;
    this.#push({ type: "RUN_ERROR", message: toFailureText(thrown, this.#options.onError), code });
    return this.#take();
  }

  #take(): Entry[] {
    // Empties the array instead of replacing it, because `RunEvents` and `NestedRuns` push to the same array.
    return this.#out.splice(0);
  }

  #push(event: AGUIEvent): void {
    this.#out.push({ event, audience: "all" });
  }

  #skips({ replayed }: LoopEvent): boolean {
    return replayed === true && this.#skipsRecalled;
  }

  #mapOwn(event: LoopEvent): void {
    const run = (this.#run ??= this.#start(event.runId));
    if (this.#ending !== undefined) this.#beginResumed();
    if (event.type === "run-end") this.#ending = this.#finish(run, event);
    if (event.type === "run-start" || event.type === "run-end" || this.#skips(event)) return;
    if (event.type === "tool-end" && event.outcome === "interrupted" && run.nested.isSuspended(event.callId)) return;
    run.events.add(event);
    if (isSpending(event)) this.#count(run, event);
  }

  #start(id: string): Mapped {
    const { runId = id, threadId = id, version = "1.0" } = this.#options;
    const prefix = toPrefix(id);
    const place = { prefix, tag: {}, options: this.#options, out: this.#out };
    const events = new RunEvents(place);
    const ids = { threadId, runId };
    this.#push({ type: "RUN_STARTED", ...ids, ...(version === "1.0" && { protocolVersion: "1.0" }) });
    return { ids, runId: id, events, nested: new NestedRuns({ ...place, events }) };
  }

  #beginResumed(): void {
    this.#ending = undefined;
    this.#skipsRecalled = true;
  }

  #count({ events }: Mapped, event: SpendingEvent): void {
    const cost = addToCost(this.#cost, event);
    if (cost === this.#cost) return;
    this.#cost = cost;
    events.custom("cost", cost);
  }

  #finish(run: Mapped, end: LoopEvents["run-end"]): readonly Entry[] {
    const isSuspended = end.status === "suspended";
    run.events.close(isSuspended);
    const sent = this.#take();
    const interrupts = waitingCallsOf(end.reason).map((call) => this.#interruptOf(call, run));
    run.nested.close(interrupts);
    this.#push(this.#toEnd(run, end, interrupts));
    const ending = this.#take();
    for (const entry of sent) this.#out.push(entry);
    return ending;
  }

  #interruptOf(call: Parameters<typeof toInterrupt>[0], { runId, nested }: Mapped): AGUIInterrupt {
    const interrupt = toInterrupt(call, runId);
    const path = (interrupt.toolCallId ?? "").slice(toPrefix(runId).length).split("/");
    if (path.length === 1) return interrupt;
    if (this.#options.version === "0.0") return { ...interrupt, toolCallId: toPrefix(runId) + (path[0] ?? "") };
    const subagentRunId = nested.runIdAt(path.slice(0, -1).join("/"));
    return { ...interrupt, ...(subagentRunId !== undefined && { subagentRunId }) };
  }

  #toEnd({ ids }: Mapped, end: LoopEvents["run-end"], interrupts: AGUIInterrupt[]): AGUIEvent {
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
