// Reads traces, and checks the rules that trace viewers need.

import { parseRunLog, type RunLog, toChromeTrace } from "turnwright/inspect";
import { expect } from "vitest";

export interface TraceEvent {
  readonly name: string;
  readonly ph: string;
  readonly cat?: string;
  readonly pid: number;
  readonly tid?: number;
  readonly ts: number;
  readonly dur: number;
  readonly args: { readonly [fact: string]: unknown };
}

export function readTrace(trace: string): readonly TraceEvent[] {
  const { traceEvents } = JSON.parse(trace) as { readonly traceEvents: readonly TraceEvent[] };
  return traceEvents;
}

export const traceOf = (log: RunLog): readonly TraceEvent[] => readTrace(toChromeTrace(log));

/** Makes a log from lines that a test writes by hand. Times are milliseconds since the start. */
export function logOf(
  lines: readonly { readonly type: string; readonly at: number; readonly [field: string]: unknown }[],
): RunLog {
  const first = { type: "log", at: 0, version: 1 };
  return parseRunLog(
    [first, ...lines].map((line) => `${JSON.stringify({ run: 0, ...line, at: line.at + 1_000_000 })}\n`).join(""),
  );
}

export const completeEvents = (events: readonly TraceEvent[]): readonly TraceEvent[] => events.filter(({ ph }) => ph === "X");

function byThread(events: readonly TraceEvent[]): ReadonlyMap<string, readonly TraceEvent[]> {
  const threads = new Map<string, TraceEvent[]>();
  for (const event of completeEvents(events)) {
    const key = `${event.pid}/${event.tid}`;
    threads.set(key, [...(threads.get(key) ?? []), event]);
  }
  return threads;
}

/** Two complete events of a thread must follow each other, or one must contain the other. */
export function expectNested(events: readonly TraceEvent[]): void {
  const threads = byThread(events);
  for (const [thread, ofThread] of threads) {
    const open: TraceEvent[] = [];
    let last = 0;
    for (const event of ofThread) {
      expect(event.ts, `${thread}: ${event.name} starts after the event before it`).toBeGreaterThanOrEqual(last);
      expect(event.dur).toBeGreaterThan(0);
      last = event.ts;
      for (let outer = open.at(-1); outer !== undefined && outer.ts + outer.dur <= event.ts; outer = open.at(-1)) open.pop();
      const outer = open.at(-1);
      if (outer !== undefined)
        expect(event.ts + event.dur, `${event.name} ends in ${outer.name}`).toBeLessThanOrEqual(outer.ts + outer.dur);
      open.push(event);
    }
  }
}

/** Shows the complete events of each thread as indented lines, with times in milliseconds. */
export function drawTrace(events: readonly TraceEvent[]): string {
  const names = new Map(
    events.flatMap(({ ph, name, pid, tid, args }) =>
      ph === "M" && name === "thread_name" ? [[`${pid}/${tid}`, args["name"]]] : [],
    ),
  );
  const threads = byThread(events);
  const lines = [...threads].flatMap(([thread, ofThread]) => {
    const open: TraceEvent[] = [];
    const drawn = ofThread.map((event) => {
      for (let outer = open.at(-1); outer !== undefined && outer.ts + outer.dur <= event.ts; outer = open.at(-1)) open.pop();
      const line = `${"  ".repeat(open.length + 1)}${event.name} ${toMs(event.ts)}-${toMs(event.ts + event.dur)}`;
      open.push(event);
      return line;
    });
    return [`${thread} ${String(names.get(thread))}`, ...drawn];
  });
  return `\n${lines.join("\n")}\n`;
}

const toMs = (ts: number): number => Math.round(ts / 1000);
