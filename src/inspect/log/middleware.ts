import { checkFields, type Checks, is, isRecord, textOf } from "../../core/kit.ts";
import type { EmittedPart } from "../../core/types/loop-event.ts";
import type { LoopEvent, Message, Middleware, ModelChunk, ModelRequest, Provider, ToolContext } from "../../core/index.ts";
import { isContent } from "../../shared/texts.ts";
import { toPlainError } from "../../shared/plain-error.ts";
import {
  type ObservedRun,
  observeRuns,
  type RunObserver,
  type StartObserving,
  type StreamObserver,
} from "../../observe/run-observer.ts";
import { rowOf } from "../../shared/event-table.ts";
import { Cleaner, type RedactText } from "./clean-values.ts";
import { callSafely, openLog, type RunLogSink, type LogWriter } from "./log-writer.ts";
import { cleanPart, describeRun, describeTools, EmittedTexts, logName } from "./noted-events.ts";
import { type KnownRun, type LogFields, runKey, type SentMessage, stepOf } from "./log-lines.ts";
import { OutputDraft } from "./output-draft.ts";
import { measure, type Measured, measureList } from "./shared-values.ts";

export interface RecorderPorts {
  readonly writer: LogWriter;
  readonly cleaner: Cleaner;
  now(): number;
  release(): void;
  startNested(place: RunPlace): StartObserving;
}

/** A nested run's place: the ids of the calls that contain it, and its outer run's number in the log. */
export interface RunPlace {
  readonly path: readonly string[];
  readonly parent?: number | undefined;
}

/** True for the last events of a run: its end, and the notice directly before it. */
function isEnd(event: LoopEvent): boolean {
  return event.type === "run-end" || (event.type === "notice" && event.kind !== "still-working");
}

const contentOf: { readonly [Type in ModelChunk["type"]]?: string } = {
  "text-delta": "text",
  "refusal-delta": "text",
  "reasoning-delta": "reasoning",
  "call-start": "call",
  "call-args-delta": "call",
  "call-ready": "call",
};

interface Content {
  readonly data: unknown;
  readonly metadata: unknown;
  /** The emitted part, or a string in an event about a guardrail. */
  readonly part: EmittedPart | string;
}

export class RunRecorder implements RunObserver {
  readonly #ports: RecorderPorts;
  readonly #place: RunPlace;
  readonly #run: KnownRun;
  /** The fields of the run-start line, until the line is written. */
  #first: LogFields | undefined;
  /** How many events this execution has emitted for each step. Undefined if the run is new in the log. */
  readonly #seen: Map<string, number> | undefined;
  readonly #emitted = new EmittedTexts();
  #draft: OutputDraft | undefined;
  #tools: { readonly source: ModelRequest["tools"]; readonly measured: Measured } | undefined;
  #hasRequest = false;
  #hasContent = false;
  #isLive = false;
  /** True after the first event in this execution that was not replayed. */
  #wasLive = false;
  #isClosed = false;
  readonly #stream: StreamObserver = { run: (step) => step(), onChunk: (chunk) => this.#takeChunk(chunk) };

  constructor(run: ObservedRun, ports: RecorderPorts, place: RunPlace) {
    this.#ports = ports;
    this.#place = place;
    const { path, parent } = place;
    this.#run = ports.writer.findRun(runKey(ports.cleaner.id(run.runId), path));
    const isKnown = this.#run.written.size > 0;
    this.#seen = isKnown ? new Map() : undefined;
    const nested = path.length === 0 ? {} : { path: [...path], parent };
    this.#first = { at: ports.now(), runId: run.runId, ...nested, ...describeRun(run, ports.cleaner) };
    // If the log already has lines of this nested run, writes `run-start` only before the next new line, so that a mere replay adds
    // nothing.
    if (path.length === 0 || !isKnown) this.#begin();
  }

  /** The run's number in the log. */
  get number(): number {
    return this.#run.number;
  }

  #begin(): void {
    const { at, ...first } = this.#first ?? {};
    if (this.#first === undefined) return;
    this.#first = undefined;
    const { writer, cleaner } = this.#ports;
    writer.write(this.#run, { type: "run-start", at: at as number, ...cleaner.names(first) });
  }

  #write(type: string, fields: LogFields): void {
    this.#begin();
    const { writer, cleaner, now } = this.#ports;
    writer.write(this.#run, { type, at: now(), ...cleaner.names(fields) });
  }

  /** Calls code that writes the log. If it throws, the log ends and the run continues. */
  #safely(call: () => void): void {
    if (this.#isClosed || !this.#ports.writer.isOpen) return;
    try {
      call();
    } catch (error) {
      this.#ports.writer.fail(error);
    }
  }

  onEvent(event: LoopEvent): void {
    this.#safely(() => {
      for (const noted of this.#emitted.take(event)) this.#take(noted);
    });
  }

  #take(event: LoopEvent): void {
    if (event.type === "text-delta" || event.type === "reasoning-delta") return this.#draft?.addText(event.type, event.text);
    if (event.type === "tool-args-end") return this.#draft?.addCall(event, this.#ports.now());
    if (event.type === "iteration-start") {
      this.#endOutput();
      this.#draft = new OutputDraft(event, this.#ports.cleaner);
      [this.#hasRequest, this.#hasContent, this.#isLive] = [false, false, event.replayed !== true];
    } else if (event.type !== "attempt-discarded" && this.#isOutputOver(event)) this.#endOutput();
    if (event.replayed !== true && !isEnd(event)) [this.#isLive, this.#wasLive] = [true, true];
    this.#note(event);
  }

  /** True once the stream's output is complete. Calls that start early emit events before that. */
  #isOutputOver({ type, replayed }: LoopEvent): boolean {
    return replayed === true || type === "iteration-end" || type === "run-end" || this.#draft?.isOver === true;
  }

  #endOutput(): void {
    const fields = this.#draft?.takeFields();
    if (fields !== undefined && this.#isNew("output", fields, fields["replayed"] === true)) this.#write("output", fields);
  }

  #note(event: LoopEvent): void {
    const { log } = rowOf(event);
    if (log === undefined) return;
    const { type, runId: _runId, path: _path, iteration, replayed, ...rest } = event;
    const { data, metadata, part, ...facts } = rest as typeof rest & Partial<Content>;
    const { cleaner } = this.#ports;
    const cleaned = cleaner.fields(facts, log);
    const fields: LogFields = {
      iteration,
      replayed,
      ...(isRecord(cleaned) ? cleaned : {}),
      ...(type === "attempt-discarded" && this.#discarded()),
      data: cleaner.content(data, "progress"),
      part: isRecord(part) ? cleanPart(part, cleaner) : part,
      metadata: cleaner.content(metadata, "metadata"),
    };
    if (this.#isNew(type, fields, this.#isRepeated(event))) this.#write(type, fields);
  }

  /** Returns the output of a discarded attempt, which would otherwise become part of the iteration's output. */
  #discarded(): LogFields {
    const { text, reasoning } = this.#draft?.takeFields() ?? {};
    return { text, reasoning };
  }

  /**
   * True for an event that an earlier execution may have written. An iteration's end is marked as replayed if its stream was replayed, but
   * is new if calls of the iteration ran in this execution. A nested run's end is never marked as replayed.
   */
  #isRepeated(event: LoopEvent): boolean {
    if (isEnd(event)) return this.#place.path.length > 0 && !this.#wasLive;
    return event.replayed === true && (event.type !== "iteration-end" || !this.#isLive);
  }

  #isNew(type: string, fields: LogFields, isReplayed: boolean): boolean {
    if (this.#seen === undefined) return true;
    const step = stepOf(type, fields);
    const count = (this.#seen.get(step) ?? 0) + 1;
    this.#seen.set(step, count);
    return !isReplayed || count > (this.#run.written.get(step) ?? 0);
  }

  /**
   * Begins to observe a stream. Returns undefined for a second stream in an iteration, which occurs if a hook returned a provider that is
   * already observed.
   */
  startStream(request: ModelRequest, provider: Pick<Provider, "id" | "model">): StreamObserver | undefined {
    if (this.#hasRequest || !this.#ports.writer.isOpen) return undefined;
    this.#hasRequest = true;
    this.#safely(() => this.#writeRequest(request, provider));
    return this.#stream;
  }

  #writeRequest(
    { messages, system, output, tools, toolChoice, settings }: ModelRequest,
    { id, model }: Pick<Provider, "id" | "model">,
  ): void {
    const { cleaner } = this.#ports;
    if (this.#tools?.source !== tools) this.#tools = { source: tools, measured: measure(describeTools(tools, cleaner)) };
    const { iteration, continuation } = this.#draft?.place ?? {};
    this.#write("request", {
      iteration,
      continuation,
      provider: textOf(id),
      model: textOf(model),
      settings: cleaner.fields(settings, "settings"),
      toolChoice,
      system: system === undefined ? undefined : cleaner.text(system, "system"),
      output: output === undefined ? undefined : cleaner.fields(output.schema, "system"),
      tools: tools.length === 0 ? undefined : this.#tools.measured,
      ...this.#diffMessages(messages),
    });
  }

  #diffMessages(messages: readonly Message[]): LogFields {
    const { sent: before } = this.#run;
    const sent: SentMessage[] = [];
    const changed = new Map<number, Measured>();
    let keep = 0;
    for (const [index, message] of messages.entries()) {
      const old = before[index];
      if (old?.source === message) {
        sent.push(old);
        keep = index + 1;
        continue;
      }
      const measured = measure(this.#ports.cleaner.fields(message, "messages") ?? null);
      const isSame = old?.key === measured.key;
      if (isSame) keep = index + 1;
      else changed.set(index, measured);
      sent.push({ key: measured.key, source: message });
    }
    this.#run.sent = sent;
    const replaced = [...changed].filter(([index]) => index < keep).map(([index, message]) => measureList([index, message]));
    const added = [...changed].filter(([index]) => index >= keep).map(([, message]) => message);
    return { keep, replace: replaced.length === 0 ? undefined : measureList(replaced), add: measureList(added) };
  }

  #takeChunk(chunk: ModelChunk): boolean {
    this.#safely(() => {
      this.#draft?.addChunk(chunk);
      const place = this.#draft?.place;
      if (chunk.type === "attempt-start") {
        const { attempt, provider, model, isFinal } = chunk;
        this.#hasContent = false;
        this.#write("attempt-start", { ...place, attempt, provider, model, isFinal });
      }
      const kind = this.#hasContent || !isContent(chunk) ? undefined : contentOf[chunk.type];
      if (kind === undefined) return;
      this.#hasContent = true;
      this.#write("first-token", { ...place, kind });
    });
    return !this.#isClosed;
  }

  runTool<Value>(_call: unknown, execute: () => Value): Value {
    return execute();
  }

  nest({ callId }: Pick<ToolContext, "callId">): StartObserving {
    return this.#ports.startNested({ path: [...this.#place.path, this.#ports.cleaner.id(callId)], parent: this.#run.number });
  }

  close(failure: { readonly error: unknown } | undefined): void {
    this.#safely(() => {
      this.#endOutput();
      const error: unknown = failure && toPlainError(failure.error);
      if (error !== undefined) this.#write("run-error", { error: this.#ports.cleaner.fields(error, "error") });
      // Keeps only the keys, so that a closed run's messages can be freed from memory.
      this.#run.sent = this.#run.sent.map(({ key }) => ({ key }));
    });
    this.#isClosed = true;
    this.#ports.release();
  }
}

/** The options of `runLog`. */
export interface RunLogOptions {
  /**
   * A file's path, or a sink that receives each line. A new file can be read only by its owner. If the log already exists, new lines are
   * appended to it.
   */
  readonly to: string | RunLogSink;
  /**
   * Returns the text to write in place of the run's text. Called for each string in messages, arguments, results, errors, tools and
   * settings before it is written. If it throws or does not return a string, "[redaction failed]" is written. Credentials are removed from
   * the returned text. Default: only credentials are removed.
   */
  readonly redact?: RedactText | undefined;
  /** The source of the wall-clock times in the log. `now` returns milliseconds since 1970. Default: `Date`. */
  readonly clock?: { now(): number } | undefined;
  /** Called once if the log cannot be written. The log then ends, and the run continues. Default: emits a process warning. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

const hasMethod = (value: unknown, name: string): boolean => isRecord(value) && typeof value[name] === "function";

const checks: Checks<RunLogOptions> = {
  to: [
    "the path of a file, or an object with the method `write`",
    (to) => (typeof to === "string" ? to !== "" : hasMethod(to, "write")),
    undefined,
    true,
  ],
  redact: is.fn,
  clock: ["an object with the method `now`", (clock) => hasMethod(clock, "now")],
  onError: is.fn,
};

function warn(error: unknown): void {
  const { message } = toPlainError(error);
  globalThis.process?.emitWarning?.(
    `The run log cannot be written and has ended. The run continues. Cause: ${message}`,
    "RunLogWarning",
  );
}

/**
 * Returns middleware that writes a log of the run, as JSON lines: each request, the model's output, calls and results,
 * attempts, waits and nested runs, with wall-clock times. Read the log with `readRunLog`.
 *
 * Each text and message is written only once, so each iteration adds only its new content to the log. When the run ends or the process
 * dies, all of the run's lines so far are in the file. The log does not change the run's events, result or errors. A resumed run continues
 * its log: replayed steps that are already in the log are not written again.
 *
 * Throws LoopError "invalid-option" or "unknown-option" if `log` is invalid.
 *
 * @example
 * await runToolLoop({ provider, tools, messages, middleware: [runLog({ to: "run.jsonl" })] });
 * const { runs } = await readRunLog("run.jsonl");
 */
export function runLog(log: RunLogOptions): Middleware {
  checkFields("log", log, checks);
  const { to, redact, clock = Date, onError = warn } = log;
  const cleaner = new Cleaner(redact);
  const report = (error: unknown): void => callSafely(() => onError(error));
  const startNested =
    (place: RunPlace): StartObserving =>
    (run) => {
      try {
        const { writer, release } = openLog(to, report);
        const ports: RecorderPorts = { writer, cleaner, now: () => clock.now(), release, startNested };
        return createRecorder(() => new RunRecorder(run, ports, place), ports);
      } catch (error) {
        report(error);
        return undefined;
      }
    };
  return observeRuns(logName, startNested({ path: [] }));
}

function createRecorder(create: () => RunRecorder, { writer, release }: RecorderPorts): RunRecorder | undefined {
  try {
    if (writer.isOpen) return create();
  } catch (error) {
    writer.fail(error);
  }
  release();
  return undefined;
}
