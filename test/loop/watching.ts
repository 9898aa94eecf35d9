// Reads streams, with an additional listener that shows which events have not been read yet.

import type { LoopEvent, LoopOptions } from "turnwright";
import { type EventRecording, type MockScript, recordEvents } from "turnwright/testing";
import { type Reading, start } from "./reading.ts";

export interface Watched extends Reading {
  readonly recording: EventRecording;
  read(count: number): Promise<LoopEvent[]>;
  /** Returns the number of events that the listener has received and the reader has not read yet. */
  unread(): number;
}

export function watch(script: MockScript, more: Partial<LoopOptions> = {}): Watched {
  const recording = recordEvents();
  const reading = start(script, { events: recording.emitter, ...more });
  let count = 0;
  const read = async (wanted: number): Promise<LoopEvent[]> => {
    const events: LoopEvent[] = [];
    while (events.length < wanted) {
      const next = await reading.iterator.next();
      if (next.done === true) break;
      events.push(next.value);
      count += 1;
    }
    return events;
  };
  return { ...reading, recording, read, unread: () => recording.events.length - count };
}

/** Reads `count` events. Advances the time only while there are no events to read. */
export async function readAsTheyCome({ iterator, clock }: Reading, count: number): Promise<void> {
  for (let read = 0; read < count; read += 1) {
    const progress = { came: false };
    void iterator.next().then(() => (progress.came = true));
    await clock.flush();
    while (!progress.came) await clock.advance(1);
  }
}
