// Checks the order of the events of one execution. Also checks that each event about a call identifies the call.

import { expect } from "vitest";
import type { LoopEvent, LoopEvents } from "turnwright";

type CallEventOf = Extract<LoopEvent, { readonly callId: string }>;

interface Told {
  readonly callId: string;
  readonly index: number;
  readonly types: string[];
  outcome: string | undefined;
}

/** The type of event that must come before each type of call event. */
const mustFollow: { readonly [Type in CallEventOf["type"]]?: string } = {
  "approval-asked": "tool-args-end",
  "approval-decided": "tool-args-end",
  "tool-start": "tool-args-end",
  "tool-progress": "tool-start",
  "tool-emit": "tool-start",
  "tool-end": "tool-args-end",
  "late-result": "tool-start",
  restart: "tool-end",
  "hidden-notice": "tool-end",
  "result-processed": "tool-end",
  "result-extracted": "tool-end",
  "result-cached": "tool-end",
};

const started: readonly string[] = ["completed", "failed", "timed-out", "interrupted", "deferred"];

/** True for the end of a call whose tool has started. All other calls were refused, and have no `tool-start`. */
export function hasStarted({ outcome }: { readonly outcome: string }): boolean {
  return started.includes(outcome);
}

/** The type of event that must not come before each type of call event. */
const ends: { readonly [Type in CallEventOf["type"]]?: string } = {
  "tool-args-delta": "tool-args-end",
  "tool-args-end": "tool-args-end",
  "approval-asked": "tool-start",
  "approval-decided": "tool-start",
  "tool-start": "tool-start",
  "tool-progress": "tool-end",
  "tool-emit": "tool-end",
  "tool-end": "tool-end",
};

const check = (actual: unknown, expected: unknown): void => expect(actual).toEqual(expected);
const including = (one: string): unknown => expect.arrayContaining([one]);
const excluding = (one: string): unknown => expect.not.arrayContaining([one]);
const like = (pattern: RegExp): unknown => expect.stringMatching(pattern);

class Reader {
  readonly #calls = new Map<string, Told>();
  /** The calls of the current iteration. Calls from the index `#firstOfStream` on belong to the current stream. */
  #ofIteration: Told[] = [];
  #firstOfStream = 0;
  #open: LoopEvents["iteration-start"] | undefined;
  /** The latest `iteration-end` event, which lists the calls that wait for a decision. */
  #last: LoopEvents["iteration-end"] | undefined;

  take(event: LoopEvent): void {
    if (event.type === "iteration-start") this.#start(event);
    else if (event.type === "iteration-end") this.#end(event);
    else if (event.type === "run-end") this.#close(event);
    // Drops the calls of the discarded attempt, because the next attempt makes calls of its own.
    else if (event.type === "attempt-discarded") this.#ofIteration.length = this.#firstOfStream;
    else if ("callId" in event) this.#call(event);
  }

  #start(event: LoopEvents["iteration-start"]): void {
    check(this.#open, undefined);
    check(this.#last?.calls.map(({ outcome }) => outcome) ?? [], excluding("waiting"));
    this.#open = event;
    if (event.continuation === 0) check(this.#ofIteration, []);
    else check(this.#last?.calls, []);
    this.#firstOfStream = this.#ofIteration.length;
  }

  #end(event: LoopEvents["iteration-end"]): void {
    const { iteration, continuation, replayed } = event;
    check([this.#open?.iteration, this.#open?.continuation, this.#open?.replayed], [iteration, continuation, replayed]);
    for (const { callId, types } of this.#ofIteration) check([callId, types], [callId, including("tool-args-end")]);
    this.#open = undefined;
    this.#last = event;
    if (event.calls.length === 0) return;
    const told = this.#ofIteration.map(({ callId, index, outcome }) => ({ callId, index, outcome }));
    told.sort((a, b) => a.index - b.index);
    check(
      event.calls.map(({ callId, index }) => [callId, index]),
      told.map(({ callId, index }) => [callId, index]),
    );
    check(
      event.calls.map(({ index }) => index),
      told.map((_, index) => index),
    );
    event.calls.forEach(({ outcome }, index) => {
      const ended = told[index]?.outcome;
      if (ended === undefined) check(["waiting", "not-run"], including(outcome));
      else check(outcome, ended);
    });
    this.#ofIteration = [];
    this.#firstOfStream = 0;
  }

  #close({ status }: LoopEvents["run-end"]): void {
    check([this.#open, this.#ofIteration], [undefined, []]);
    const waits = this.#last?.calls.some(({ outcome }) => outcome === "waiting") === true;
    if (waits) check(["suspended", "stopped-by-user", "timeout"], including(status));
  }

  #call(event: CallEventOf): void {
    const told = this.#toldOf(event);
    check([event.callId, event.index], [told.callId, told.index]);
    const { type } = event;
    const before = mustFollow[type];
    const end = ends[type];
    if (before !== undefined) check([type, told.types], [type, including(before)]);
    if (end !== undefined) check([type, told.types], [type, excluding(end)]);
    if (event.type === "tool-end") {
      told.outcome = event.outcome;
      check([event.outcome, told.types.includes("tool-start")], [event.outcome, hasStarted(event)]);
    }
    told.types.push(type);
  }

  #toldOf(event: CallEventOf): Told {
    const { callId, index } = event;
    const known = this.#calls.get(callId);
    if (known !== undefined) return known;
    check(event.type, like(/^tool-args-/));
    const told: Told = { callId, index, types: [], outcome: undefined };
    this.#calls.set(callId, told);
    this.#ofIteration.push(told);
    return told;
  }
}

export function checkCallEvents(events: readonly LoopEvent[]): void {
  const keyOfRun = ({ runId, path = [] }: LoopEvent): string => JSON.stringify([runId, path]);
  for (const run of new Set(events.map(keyOfRun))) {
    const told = events.filter((event) => keyOfRun(event) === run);
    readAll(told);
    // A listener that reads only new events, or only replayed events, must also see a start before each end.
    for (const replayed of [undefined, true]) readIterations(told.filter((event) => event.replayed === replayed));
  }
}

function readAll(events: readonly LoopEvent[]): void {
  const reader = new Reader();
  for (const event of events) reader.take(event);
}

function readIterations(events: readonly LoopEvent[]): void {
  const iterations = events.filter(({ type }) => type === "iteration-start" || type === "iteration-end");
  expect(iterations.map(({ type }) => type)).toEqual(
    iterations.map((_, index) => (index % 2 === 0 ? "iteration-start" : "iteration-end")),
  );
}

/** A replay emits events of these types as often as the original execution did. */
const retold: ReadonlySet<string> = new Set([
  "iteration-start",
  "iteration-end",
  "tool-args-end",
  "approval-decided",
  "tool-start",
  "tool-end",
  "restart",
  "hidden-notice",
  "result-processed",
  "result-extracted",
  "result-cached",
]);

export function retellable(events: readonly LoopEvent[]): readonly string[] {
  const listed = new Set(
    events.flatMap((event) => (event.type === "iteration-end" ? event.calls.map((call) => keyOf(event, call)) : [])),
  );
  const kept = events.filter((event) => retold.has(event.type) && (!("callId" in event) || listed.has(keyOf(event, event))));
  return kept.map(toLine).sort();
}

function keyOf({ path }: Pick<LoopEvent, "path">, { callId }: { readonly callId: string }): string {
  return JSON.stringify([path, callId]);
}

/** Leaves out details that differ in a replay. For example, a replay knows the finish reason of a stream in advance. */
function toLine(event: LoopEvent): string {
  const { replayed: _, ...told } = event;
  return JSON.stringify({ ...told, metadata: undefined, problem: undefined });
}
