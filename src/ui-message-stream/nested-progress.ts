// The runs inside a call. The page shows them as the preliminary output of the call.

import type { Json, LoopEvent, LoopStatus } from "../core/entry-kit.ts";
import { toPlain } from "../core/web-kit.ts";
import type { UINestedCall, UINestedProgress } from "./ui-message-chunk.ts";

interface Run {
  readonly path: readonly string[];
  text: string;
  /** The text before the current stream, so that a discarded attempt can be taken back. */
  before: string;
  readonly calls: Map<string, { name: string; state: UINestedCall["state"] }>;
  status: LoopStatus | "running";
}

/** Each output repeats all text so far. It is sent again when this share is new, so that the sum grows with the text only. */
const share = 8;
const leastNew = 200;

/** The progress of the runs inside one call. */
export class NestedProgress {
  readonly #runs = new Map<string, Run>();
  #progress: Json | undefined;
  /** Characters of all runs, and of those that were sent last. */
  #length = 0;
  #sent = 0;

  /** True if a run has begun. */
  get hasRuns(): boolean {
    return this.#runs.size > 0;
  }

  /** True if a run waits. Its call ends as interrupted then, and goes on when the run is resumed. */
  get isSuspended(): boolean {
    return [...this.#runs.values()].some(({ status }) => status === "suspended");
  }

  /** Notes what the tool itself reported. */
  setProgress(data: unknown): void {
    this.#progress = toPlain(data);
  }

  /** Notes an event of a run inside the call. Returns true if it is worth an output of its own. */
  note(event: LoopEvent): boolean {
    const run = this.#runOf(event);
    if (event.type !== "text-delta") return noteFact(run, event);
    run.text += event.text;
    this.#length += event.text.length;
    return this.#length - this.#sent >= Math.max(leastNew, this.#sent / share);
  }

  /** Returns the output. */
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
