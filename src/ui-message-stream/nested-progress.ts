import type { Json, LoopEvent, LoopStatus } from "../core/index.ts";
import { toPlain } from "../web/page-values.ts";
import type { UINestedCall, UINestedProgress } from "./ui-message-chunk.ts";

interface Run {
  readonly path: readonly string[];
  text: string;
  /** The text before the current iteration. It is shown again if an attempt is discarded. */
  before: string;
  readonly calls: Map<string, { name: string; state: UINestedCall["state"] }>;
  status: LoopStatus | "running";
}

/**
 * The text must grow by 1/8 before another preliminary output is sent. Each output repeats the whole text, so this limit keeps their total
 * size proportional to the text.
 */
const share = 8;
/** The minimum number of new characters before another preliminary output is sent. */
const minNew = 200;

/** Shows a call's nested runs as its preliminary output. */
export class NestedProgress {
  readonly #runs = new Map<string, Run>();
  #progress: Json | undefined;
  #length = 0;
  /** The value of `#length` when the last preliminary output was sent. */
  #sent = 0;

  get hasRuns(): boolean {
    return this.#runs.size > 0;
  }

  /**
   * True if a nested run is suspended. The outer call then ends as `interrupted`, and continues when the outermost run is
   * resumed.
   */
  get isSuspended(): boolean {
    return [...this.#runs.values()].some(({ status }) => status === "suspended");
  }

  /** Stores the most recent value that the tool itself passed to `context.progress`. */
  setProgress(data: unknown): void {
    this.#progress = toPlain(data);
  }

  /** Adds an event of a nested run. Returns true if a new preliminary output must be sent. */
  note(event: LoopEvent): boolean {
    const run = this.#runOf(event);
    if (event.type !== "text-delta") return noteFact(run, event);
    run.text += event.text;
    this.#length += event.text.length;
    return this.#length - this.#sent >= Math.max(minNew, this.#sent / share);
  }

  toOutput(): UINestedProgress {
    this.#sent = this.#length;
    const runs = [...this.#runs.values()].map(({ path, text, calls, status }) => ({
      path,
      text,
      calls: [...calls].map(([callId, call]) => ({ callId, ...call })),
      status,
    }));
    return this.#progress === undefined ? { runs } : { runs, progress: this.#progress };
  }

  #runOf({ runId, path = [] }: LoopEvent): Run {
    const known = this.#runs.get(runId);
    if (known !== undefined) return known;
    const run: Run = { path, text: "", before: "", calls: new Map(), status: "running" };
    this.#runs.set(runId, run);
    return run;
  }
}

function noteFact(run: Run, event: LoopEvent): boolean {
  const { type } = event;
  if (type === "iteration-start") run.before = run.text;
  else if (type === "attempt-discarded") run.text = run.before;
  else if (type === "tool-start") run.calls.set(event.callId, { name: event.name, state: "running" });
  else if (type === "tool-end") run.calls.set(event.callId, { name: event.name, state: event.outcome });
  else if (type === "run-end") run.status = event.status;
  else if (type === "iteration-end")
    for (const { callId, name, outcome } of event.calls) run.calls.set(callId, { name, state: outcome });
  else return false;
  return type !== "iteration-start";
}
