import type { LoopEvents } from "../core/index.ts";
import type { NestedEvent } from "../web/page-mapper.ts";
import type { Audience } from "../web/page-run.ts";
import { failedStatuses, toFailureText } from "../web/page-values.ts";
import type { AGUIEvent } from "./ag-ui-event.ts";
import { AGUIRun, type RunPlace } from "./ag-ui-run.ts";

interface NestedRun {
  readonly runId: string;
  readonly path: readonly string[];
  readonly events: AGUIRun;
  /** "new" means that no event has followed the nested run's `run-start` yet. */
  state: "new" | "open" | "suspended" | "over";
  /** True if the start of this nested run was also sent to pages that use `from: "live"`. */
  isAnnounced: boolean;
}

interface Told {
  readonly status: string;
  readonly audience?: Audience;
}

interface OuterRun extends RunPlace {
  readonly events: AGUIRun;
}

/** The nested runs of a run, which the page shows as subagents. */
export class NestedRuns {
  readonly #outer: OuterRun;
  readonly #runs = new Map<string, NestedRun>();

  constructor(outer: OuterRun) {
    this.#outer = outer;
  }

  /**
   * True if the call has a suspended nested run. The call then ends as `interrupted`, and continues when the outermost run is
   * resumed.
   */
  isSuspended(callId: string): boolean {
    return [...this.#runs.values()].some(({ path, state }) => path[0] === callId && state === "suspended");
  }

  /**
   * Returns the `runId` of a call's newest nested run. `path` consists of the ids of the outer calls and the call itself, outermost first,
   * joined by "/".
   */
  runIdAt(path: string): string | undefined {
    return this.#runAt(path)?.runId;
  }

  #runAt(path: string): NestedRun | undefined {
    return [...this.#runs.values()].findLast((run) => run.path.join("/") === path);
  }

  add(event: NestedEvent): void {
    const run = this.#runOf(event.runId, event.path);
    if (run.state === "over" || event.type === "run-start") return;
    if (event.type === "run-end") return this.#end(run, event);
    this.#announce(run, event.replayed === true);
    if (this.#isShown) run.events.add(event);
  }

  /** Ends all unfinished nested runs as "suspended", before the outermost run ends. */
  close(interrupts: readonly { readonly id: string; readonly subagentRunId?: string }[]): void {
    for (const run of this.#runs.values()) {
      if (run.state === "over" || run.state === "new") continue;
      if (this.#isShown) run.events.close(undefined);
      const interruptIds = interrupts.filter(({ subagentRunId }) => subagentRunId === run.runId).map(({ id }) => id);
      const suspended = { type: "suspended", ...(interruptIds.length > 0 && { interruptIds }) } as const;
      this.#tell(run, { type: "SUBAGENT_FINISHED", subagentRunId: run.runId, outcome: suspended }, { status: "suspended" });
    }
  }

  /**
   * True if the page receives the events of nested runs. A version 0.0 page receives only the status of each nested run, in `CUSTOM`
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
    const run: NestedRun = { runId, path, events: new AGUIRun(place), state: "new", isAnnounced: false };
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
    this.#tell(run, start, { status: "running", audience: isRecalled ? "recalled" : wasOpen ? "again" : "all" });
  }

  #end(run: NestedRun, end: LoopEvents["run-end"]): void {
    const { status, reason } = end;
    if (status === "suspended" && run.state === "open") run.state = "suspended";
    if (run.state !== "open") return;
    run.state = "over";
    if (this.#isShown) run.events.close(end);
    const { runId: subagentRunId } = run;
    const message = toFailureText({ kind: "run", status, reason }, this.#outer.options.onError);
    const event = failedStatuses.has(status)
      ? ({ type: "SUBAGENT_ERROR", subagentRunId, message, code: reason.kind } as const)
      : ({ type: "SUBAGENT_FINISHED", subagentRunId, outcome: { type: "success" } } as const);
    this.#tell(run, event, { status });
  }

  #tell({ runId, path, isAnnounced }: NestedRun, event: AGUIEvent, { status, audience }: Told): void {
    const toolCallId = `${this.#outer.prefix}${path[0] ?? ""}`;
    const value = { subagentRunId: runId, toolCallId, name: this.#nameOf(path), status };
    const chunk: AGUIEvent = this.#isShown ? event : { type: "CUSTOM", name: "subagent", value };
    this.#outer.out.push({ chunk, audience: audience ?? (isAnnounced ? "all" : "recalled") });
  }

  #nameOf(path: readonly string[]): string {
    const callId = path.at(-1) ?? "";
    const around = path.length === 1 ? this.#outer.events : this.#runAt(path.slice(0, -1).join("/"))?.events;
    return around?.nameOf(callId) ?? callId;
  }
}
