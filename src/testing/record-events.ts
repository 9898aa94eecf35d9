import { EventEmitter } from "eventemitter3";
import type { LoopEmitter } from "../core/kit.ts";
import type { EmittedPart, LoopEventType } from "../core/types/loop-event.ts";
import type { LoopEvent, LoopEvents } from "../core/index.ts";
import { eventTypes, rowOf } from "../shared/event-table.ts";
import { listenTo } from "../shared/listen-to.ts";

type ResultEvent = LoopEvents["result-processed"];

/** All events, by type. Each event includes its type. */
export type EventsByType = { readonly [Type in LoopEventType]: { readonly type: Type } & LoopEvents[Type] };

/** The run's events that have been recorded so far. */
export interface EventRecording {
  /** The emitter to pass to the loop as `events`. */
  readonly emitter: LoopEmitter;
  /** All recorded events in order, as yielded by `streamToolLoop`. */
  readonly events: readonly LoopEvent[];
  /** Returns the names of all events, in order. */
  types(): LoopEventType[];
  /** Returns the events of one type, in order. */
  of<Type extends LoopEventType>(type: Type): EventsByType[Type][];
  /** Returns a readable tree for snapshots: one line per event, indented by run and iteration, with consecutive deltas joined. */
  outline(): string;
  /** Stops recording and removes the listeners from the emitter. Recorded events are kept. */
  stop(): void;
}

/**
 * Records the events from an emitter, or from a new one if none is passed. With `types`, records only events of those types, and the loop
 * creates no other events.
 *
 * @example
 * const recording = recordEvents();
 * await runToolLoop({ provider: createMockProvider([text("Hello", { chunks: 3 })]), messages, events: recording.emitter });
 * expect(recording.outline()).toMatchInlineSnapshot(`
 *   "run-start
 *     iteration-start 0
 *       text-delta "Hello"
 *     iteration-end 0 completed
 *   run-end completed answered"
 * `);
 */
export function recordEvents(
  emitter: LoopEmitter = new EventEmitter(),
  types: readonly LoopEventType[] = eventTypes,
): EventRecording {
  const events: LoopEvent[] = [];
  const stop = listenTo(emitter, types, (event) => events.push(event));
  return {
    emitter,
    events,
    types: () => events.map((event) => event.type),
    of: (type) => events.filter((event) => isOfType(event, type)),
    outline: () => outlineEvents(events),
    stop,
  };
}

function isOfType<Type extends LoopEventType>(event: LoopEvent, type: Type): event is EventsByType[Type] {
  return event.type === type;
}

type Outline<Type extends LoopEventType> = (event: LoopEvents[Type]) => readonly unknown[];

/** Functions that outline the events for which a list of fields is not enough. The event table lists the fields of all other events. */
const outlines: { readonly [Type in LoopEventType]?: Outline<Type> } = {
  "run-end": ({ status, reason }) => [status, reason.kind],
  "iteration-start": ({ iteration, continuation, agent }) => [
    iteration,
    ...continuationOf(continuation),
    ...(agent === undefined ? [] : [agent]),
  ],
  "iteration-end": ({ iteration, continuation, status }) => [iteration, ...continuationOf(continuation), status],
  "text-delta": ({ text, attempt }) => [...attemptOf(attempt), JSON.stringify(text)],
  "reasoning-delta": ({ text, attempt }) => [...attemptOf(attempt), JSON.stringify(text)],
  "tool-args-end": ({ name, callId, args, problem }) => [name, `(${callId})`, problem ?? JSON.stringify(args)],
  "tool-progress": ({ name, callId, data, preliminary }) => [
    name,
    `(${callId})`,
    JSON.stringify(data),
    ...(preliminary === true ? ["(preliminary)"] : []),
  ],
  "tool-emit": ({ name, callId, part }) => [name, `(${callId})`, ...describePart(part)],
  "hidden-notice": ({ name, callId, trigger }) => [name, `(${callId})`, trigger.source, JSON.stringify(trigger.match)],
  handoff: ({ from, to, callId }) => [from, "->", to, `(${callId})`],
  "question-asked": ({ name, callId, question }) => [name, `(${callId})`, JSON.stringify(question.text)],
  "loop-detected": ({ toolName, count, cycle }) => [toolName, `${count} times`, ...(cycle === 1 ? [] : [`cycle of ${cycle}`])],
  "result-processed": describeResult,
  "result-extracted": describeResult,
  "result-cached": describeResult,
  masked: ({ calls, tokensBefore, tokensAfter }) => [calls.join(","), `${tokensBefore} -> ${tokensAfter}`],
  "compaction-end": ({ outcome, tokensBefore, tokensAfter }) => [outcome, `${tokensBefore} -> ${tokensAfter}`],
  "cache-break": ({ cause: { kind, name }, lostBytes }) => [
    kind,
    ...(name === undefined ? [] : [name]),
    `${lostBytes} bytes lost`,
  ],
  "request-adjusted": ({ changes }) => changes.map(({ by, field, action, reason }) => `${field} ${action} by ${by} (${reason})`),
  steered: ({ message: { content } }) => [JSON.stringify(content)],
  "attempt-discarded": ({ attempt, error }) => (attempt === undefined ? [] : [attempt, error?.code ?? ""]),
  "late-result": ({ name, callId, success }) => [name, `(${callId})`, success ? "success" : "failure"],
  "listener-error": ({ event, error }) => [event, JSON.stringify(error.message)],
};

/** Fields with values from the model or from tools, which an outline shows as JSON. */
const contents: ReadonlySet<string> = new Set(["args", "text"]);

function outlineFacts<Type extends LoopEventType>(event: { readonly type: Type } & LoopEvents[Type]): readonly unknown[] {
  const outline: Outline<Type> | undefined = outlines[event.type];
  if (outline !== undefined) return outline(event);
  const fields: readonly string[] = rowOf(event).facts ?? [];
  const shown = fields.map((field) => [field, Reflect.get(event, field)] as const).filter(([, value]) => value !== undefined);
  return [
    ...("callId" in event ? [event.name, `(${event.callId})`] : []),
    ...shown.map(([field, value]) => (typeof value !== "object" && !contents.has(field) ? value : JSON.stringify(value))),
  ];
}

function outlineEvents(events: readonly LoopEvent[]): string {
  const lines: string[] = [];
  let depth = 0;
  for (const event of mergeDeltas(events)) {
    if (event.type === "run-end" || event.type === "iteration-end") depth -= 1;
    lines.push("  ".repeat(Math.max(0, depth)) + lineOf(event));
    if (event.type === "run-start" || event.type === "iteration-start") depth += 1;
  }
  return lines.join("\n");
}

function lineOf<Type extends LoopEventType>(event: { readonly type: Type } & LoopEvents[Type]): string {
  return [event.type, ...outlineFacts(event), ...(event.replayed === true ? ["(replayed)"] : [])].join(" ");
}

function mergeDeltas(events: readonly LoopEvent[]): readonly LoopEvent[] {
  const merged: LoopEvent[] = [];
  for (const event of events) {
    const last = merged.at(-1);
    if (last !== undefined && "text" in event && "text" in last && sourceOf(event) === sourceOf(last)) {
      merged[merged.length - 1] = { ...event, text: last.text + event.text };
    } else {
      merged.push(event);
    }
  }
  return merged;
}

function sourceOf(event: Extract<LoopEvent, { readonly text: string }>): string {
  const source = event.type === "tool-args-delta" ? event.callId : event.attempt;
  return JSON.stringify([event.type, event.runId, event.iteration, source, event.replayed]);
}

function describePart(part: EmittedPart): readonly string[] {
  if (part.type === "text") return [JSON.stringify(part.text)];
  return [part.name, ...(part.id === undefined ? [] : [`#${part.id}`]), JSON.stringify(part.data)];
}

function describeResult({ name, callId, tokensBefore, tokensAfter }: ResultEvent): readonly string[] {
  return [name, `(${callId})`, `${tokensBefore} -> ${tokensAfter}`];
}

function continuationOf(continuation: number): readonly string[] {
  return continuation === 0 ? [] : [`continuation ${continuation}`];
}

function attemptOf(attempt: number | undefined): readonly string[] {
  return attempt === undefined ? [] : [`(attempt ${attempt})`];
}
