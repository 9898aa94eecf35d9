// Builds a run log from a journal: replays the records, and writes the events with their recorded times.

import type { Answer, RequestDraft, State } from "../../core/kit.ts";
import type { Journal, LoopEvent, Middleware, ModelChunk } from "../../core/index.ts";
import { readJournalRun, type RecordedPlace } from "../../journal/inspect/inspect-journal.ts";
import { Cleaner } from "../log/clean-values.ts";
import { createLogState } from "../log/log-lines.ts";
import { LogWriter } from "../log/log-writer.ts";
import { RunRecorder } from "../log/middleware.ts";

/**
 * Reads a journal, and returns the text of a run log with everything that the journal contains: iterations, outputs, calls, outcomes,
 * decisions, nested runs, usage, durations and the end reason. When `parseRunLog` parses this text, the log's `source` is "journal".
 *
 * The times in this log are milliseconds since the start of the run. A journal does not record how a request was sent, so each request in
 * the log has the plain transcript, without system text, settings, context items or masking. First-token times, attempts, progress and
 * metadata are also missing.
 *
 * Can be called during the run: an incomplete last line is ignored. Rejects like `inspectJournal`: with file system errors, and with
 * LoopError "invalid-option", "journal-mismatch", "journal-damaged" or "journal-refused".
 *
 * @example
 * const text = await journalToRunLog("runs/order-7.jsonl");
 * await writeFile("order-7.html", await renderRunPage({ name: "order-7", text }));
 */
export async function journalToRunLog(source: string | Journal): Promise<string> {
  const lines: string[] = [];
  const write = (line: string): void => void lines.push(line);
  const writer = new LogWriter(
    () => ({ state: createLogState(), isNew: true, from: "journal", write, close: () => {} }),
    () => {},
  );
  writer.begin(0);
  const cleaner = new Cleaner(undefined);
  const runs = new Map<RecordedPlace, RunLines>();
  await readJournalRun(source, (place) => {
    const outer = place.outer && runs.get(place.outer.place);
    const run = new RunLines({ writer, cleaner }, place, outer);
    runs.set(place, run);
    return { name: "run-log", pure: true, begin: () => run.hooks };
  });
  for (const run of runs.values()) run.end();
  return lines.join("");
}

interface LogPorts {
  readonly writer: LogWriter;
  readonly cleaner: Cleaner;
}

interface ReadRequest {
  readonly draft: RequestDraft;
  readonly answer: Answer;
}

/** Writes the lines of one run. */
class RunLines {
  readonly hooks: ReturnType<NonNullable<Middleware["begin"]>>;
  readonly #ports: LogPorts;
  readonly #place: RecordedPlace;
  readonly #outer: RunLines | undefined;
  recorder: RunRecorder | undefined;
  /** Events held back until the answer to their request has been read. The first answer also names the run's provider. */
  readonly #early: LoopEvent[] = [];
  #isAsked = false;
  #newest: ReadRequest | undefined;
  #state: State | undefined;
  #look: { readonly token: string; readonly now: number; readonly at: number } | undefined;
  /** The time of the newest line. */
  #at: number;
  /** The times at which the newest calls began and the last of them ended. */
  callsAt: number;
  #callsEnd: number;
  /** The times at which the nested runs of calls ended. */
  readonly ends = new Map<string, number>();

  constructor(ports: LogPorts, place: RecordedPlace, outer: RunLines | undefined) {
    this.#ports = ports;
    this.#place = place;
    this.#outer = outer;
    this.#at = this.callsAt = this.#callsEnd = outer?.callsAt ?? 0;
    this.hooks = {
      request: async (draft, next, { state }) => {
        this.#state = state;
        this.#isAsked = true;
        const answer = await next(draft);
        this.#isAsked = false;
        this.#newest = { draft, answer };
        this.begin();
        this.#writeEarly();
        return answer;
      },
      on: (event) => this.#take(event),
    };
  }

  get runId(): string {
    const { first, outer } = this.#place;
    return first.runId ?? (outer === undefined ? "run" : `${this.#outer?.runId}/${outer.callId}`);
  }

  get path(): readonly string[] {
    const { outer } = this.#place;
    return outer === undefined ? [] : [...(this.#outer?.path ?? []), this.#ports.cleaner.id(outer.callId)];
  }

  /** Writes the start of the run and the events so far. */
  begin(): void {
    if (this.recorder !== undefined) return;
    const { provider: id = "", model = "" } = this.#newest?.answer ?? {};
    const { first } = this.#place;
    const run = { runId: this.runId, options: { version: first.codeVersion }, provider: { id, model }, definitions: () => [] };
    const ports = { ...this.#ports, now: () => this.#at, release: () => {}, startNested: () => () => undefined };
    this.recorder = new RunRecorder(run as never, ports, { path: this.path, parent: this.#outer?.recorder?.number });
    this.#writeEarly();
  }

  #writeEarly(): void {
    for (const event of this.#early.splice(0)) this.#write(event);
  }

  /** Writes the remaining lines of a run, which may not have ended. */
  end(): void {
    this.begin();
    this.recorder?.close(undefined);
  }

  #take(event: LoopEvent): void {
    // Skips a nested run's events, because each nested run writes its own lines.
    if (event.path !== undefined || event.type === "run-start" || event.type === "replay-end") return;
    if (event.type === "run-end") this.begin();
    if (this.recorder === undefined || this.#isAsked) this.#early.push(event);
    else this.#write(event);
  }

  #write(event: LoopEvent): void {
    const { replayed: _, ...told } = event;
    this.#at = this.#timeOf(event);
    this.recorder?.onEvent(told);
    if (event.type === "iteration-start") this.#writeRequest();
    const { outer } = this.#place;
    if (outer !== undefined) this.#outer?.ends.set(outer.callId, this.#at);
  }

  #timeOf(event: LoopEvent): number {
    if (event.type === "tool-end") {
      const end = Math.max(this.callsAt + event.durationMs, this.ends.get(event.callId) ?? 0);
      this.#callsEnd = Math.max(this.#callsEnd, end);
      return end;
    }
    if ("callId" in event) return this.callsAt;
    const at = Math.max(this.#at, this.#callsEnd);
    return event.type === "iteration-end" ? at : this.#follow(at);
  }

  /** Adds the time between two iterations of one execution, because no event reports a wait there. */
  #follow(at: number): number {
    const look = this.#state?.look;
    if (look === undefined || (look.token === this.#look?.token && look.now === this.#look.now)) return at;
    const last = this.#look;
    const now = last?.token === look.token ? Math.max(at, last.at + look.now - last.now) : at;
    this.#look = { token: look.token, now: look.now, at: now };
    return now;
  }

  #writeRequest(): void {
    if (this.#newest === undefined) return;
    const { draft, answer } = this.#newest;
    const { provider: id, model, visibleTools, durationMs } = answer;
    const shown = { ...this.#place.first.tools, ...answer.shownTools };
    const tools = visibleTools.map((name) => (Object.hasOwn(shown, name) ? { ...shown[name], name } : { name }));
    const request = { messages: draft.messages, tools };
    const stream = this.recorder?.startStream(request as never, { id, model });
    this.#at += durationMs;
    this.callsAt = this.#callsEnd = this.#at;
    for (const chunk of chunksOf(answer)) stream?.onChunk?.(chunk);
  }
}

/** Returns the parts of an answer for which there is no event. A stream that ended early has sent neither a finish reason nor an error. */
function chunksOf({ providerMetadata, thoughtLog, details, finish, error }: Answer): readonly ModelChunk[] {
  const sent = finish === undefined && error?.code !== "stream-ended-early" ? error : undefined;
  return [
    ...providerMetadata.map((item): ModelChunk => ({ type: "provider-metadata", item })),
    ...(thoughtLog === undefined ? [] : [{ type: "thought-log", payload: thoughtLog } as const]),
    ...(details === "" ? [] : [{ type: "details", text: details } as const]),
    ...(finish === undefined ? [] : [{ type: "finish", reason: finish } as ModelChunk]),
    ...(sent === undefined ? [] : [{ type: "error", error: sent } as ModelChunk]),
  ];
}
