// Plays one recorded stream.

import { assertNever, type ModelCall, type ModelChunk } from "../../core/entry-kit.ts";
import { untilAborted } from "../until-aborted.ts";
import type { Moment, Recording } from "./cassette-lines.ts";
import { toThrown } from "./to-thrown.ts";

/** What happens to a stream in place of a chunk. */
type Silent = Exclude<Moment, { type: "chunk" | "aborted" | "ended" }>;

/** Streams a recording; with `timing` at the pace at which it was recorded. */
export async function* playRecording(
  { moments }: Recording,
  call: ModelCall,
  timing: boolean,
): AsyncGenerator<ModelChunk, void, undefined> {
  const { signal, clock } = call;
  let startedAt = clock.now();
  let wasCut = false;
  for (const moment of moments) {
    if (moment.type === "aborted") {
      await untilFired(signal);
      wasCut = true;
      startedAt = clock.now() - moment.atMs;
      continue;
    }
    // What the stream said to a signal that had fired is behind the place where it fired.
    if (!wasCut) signal.throwIfAborted();
    if (timing) await sleep(call, startedAt + moment.atMs - clock.now(), wasCut);
    if (moment.type === "ended") return;
    if (moment.type === "chunk") yield moment.chunk;
    else await undergo(moment, call, wasCut);
  }
  throw new Error("The recording of this stream ends here: it was cut off, by a crash or by what could not be written.");
}

function undergo(moment: Silent, call: ModelCall, wasCut: boolean): Promise<void> | void {
  switch (moment.type) {
    case "heartbeat":
      return call.heartbeat();
    case "threw":
      throw toThrown(moment.error);
    case "left":
      if (!moment.waiting) throw new Error("The recording of this stream ends here: its reader left it.");
      return wasCut ? new Promise<void>(() => {}) : untilAborted(call.signal, () => () => {});
    default:
      return assertNever(moment);
  }
}

function sleep({ clock, signal }: ModelCall, ms: number, wasCut: boolean): Promise<void> | void {
  if (ms <= 0) return;
  if (wasCut) return new Promise((resolve) => void clock.setTimeout(resolve, ms));
  return untilAborted(signal, (done) => {
    const timer = clock.setTimeout(done, ms);
    return () => clock.clearTimeout(timer);
  });
}

function untilFired(signal: AbortSignal): Promise<void> {
  return untilAborted(signal, () => () => {}).catch(() => {});
}
