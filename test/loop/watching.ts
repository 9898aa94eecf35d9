// Compares how much a reader and a listener have got, to find how many events are still unread.

import type { LoopEvent, LoopOptions } from "turnwright";
import { type EventRecording, type MockScript, recordEvents } from "turnwright/testing";
import { type Reading, start } from "./reading.ts";

export interface Watched extends Reading {
  readonly recording: EventRecording;
  read(count: number): Promise<LoopEvent[]>;
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

export async function readAsTheyCome({ iterator, clock }: Reading, count: number): Promise<void> {
  for (let read = 0; read < count; read += 1) {
    const progress = { came: false };
    void iterator.next().then(() => (progress.came = true));
    await clock.flush();
    while (!progress.came) await clock.advance(1);
  }
}
