import { afterAll, beforeAll, expect, it } from "vitest";
import { isLoopError, type LoopResult } from "turnwright";
import type { PartialResult } from "../../src/core/types/loop-result.ts";
import { text } from "turnwright/testing";
import { countListeners } from "./count-listeners.ts";
import { type Fault, faults, hangs } from "./faults.ts";
import { play, type Playing, tool } from "./play.ts";
import { judgingPorts } from "./ports/judging.ts";
import { type Port, usual } from "./ports/port.ts";
import { recordingPorts } from "./ports/recording.ts";
import { watchingPorts } from "./ports/watching.ts";
import { workingPorts } from "./ports/working.ts";

const ports = { ...workingPorts, ...judgingPorts, ...recordingPorts, ...watchingPorts };

const unhandled: unknown[] = [];
const note = (error: unknown): void => void unhandled.push(error);
beforeAll(() => void process.on("unhandledRejection", note));
afterAll(() => void process.off("unhandledRejection", note));

/** Milliseconds. Long enough that a test can end the run before this timeout. */
const limit = 10_000;
const waits = { toolMs: limit, callbackMs: limit, approvalMs: limit, firstChunkMs: limit, streamIdleMs: limit, journalMs: limit };
/** Milliseconds. A run that was ended may wait 500 ms for its journal, and `toolCleanupMs` for its tools. */
const graceMs = 600;

/** Ways to end a hanging run from outside, with the expected reasons. */
const endings = {
  kill: { end: ({ control }: Playing) => void control.kill(), kind: "killed" },
  abort: { end: ({ abort }: Playing) => abort.abort(), kind: "aborted" },
  stop: { end: ({ control }: Playing) => control.stop(), kind: "stopped" },
  "wall-clock": { end: () => {}, kind: "wall-clock" },
};
type How = keyof typeof endings;

function start({ over }: Port, fault: Fault, { runId, how }: { runId: string; how?: How | undefined }): Playing {
  const playing = play(usual, {
    // All runs of a test have the same runId. If a run does not release it, the next run fails.
    runId,
    tools: [tool("t", () => "a result")],
    timeouts: { ...waits, toolCleanupMs: 50 },
    limits: how === "wall-clock" ? { wallClockMs: 100 } : {},
    ...over(fault),
  });
  playing.result.catch(() => {});
  return playing;
}

type End = LoopResult | { readonly error: unknown };

function describeEnd(end: End): string {
  if ("status" in end) return end.reason.kind;
  if (!isLoopError(end.error)) return "thrown";
  const { code } = end.error;
  // `details.ended` says how the run was ended. It is undefined if the journal exceeded its time limit.
  return isLoopError(end.error, "journal-unresponsive") ? [code, end.error.details.ended ?? "in time"].join(" ") : code;
}

/** The result of a run, or the partial result in a journal error. Undefined for other failures. */
function keptOf(end: End): LoopResult | PartialResult | undefined {
  if ("status" in end) return end;
  return (end.error as { readonly details?: { readonly partial?: PartialResult } } | undefined)?.details?.partial;
}

function canBeWritten(end: End): boolean {
  try {
    return JSON.stringify(end) !== "";
  } catch {
    return false;
  }
}

async function findEnd(playing: Playing, settle?: () => void): Promise<string> {
  const { clock, provider, recording } = playing;
  if (playing.endedAt() === undefined) return "still running";
  const end: End = await playing.result.catch((error: unknown) => ({ error }));
  const kept = keptOf(end);
  const told = recording.events.length;
  if (settle !== undefined) {
    settle();
    await clock.flush();
  }
  const lost = kept !== undefined && provider.calls > 0 && (kept.text === "" || kept.usage.totalTokens < 7);
  const problems = {
    "its text or its usage is lost": lost,
    "it cannot be written": "status" in end && !canBeWritten(end),
    "a timer is left": clock.pending > 0,
    "a stream is left": provider.active > 0,
    "an event is emitted after the end": recording.events.length > told,
    "the control is held":
      "status" in end && playing.options.control === playing.control && playing.control.stop() !== "finished",
    [`unhandled: ${unhandled.length}`]: unhandled.splice(0).length > 0,
  };
  const found = Object.entries(problems).flatMap(([problem, isThere]) => (isThere ? [problem] : []));
  return [describeEnd(end), ...found].join(", but ");
}

type Row = () => Promise<readonly [what: string, end: string, expected: readonly string[]]>;

async function findWrong(runId: string, rows: readonly Row[]): Promise<string> {
  const listeners = countListeners();
  const wrong: string[] = [];
  for (const row of rows) {
    const [what, end, expected] = await row();
    if (!expected.includes(end)) wrong.push(`${what}: ${end}`);
  }
  if (listeners.total() > 0) wrong.push(`${listeners.total()} listeners are left`);
  listeners.stop();
  const again = await play([text("Hi.")], { runId }).result;
  expect(again.text).toBe("Hi.");
  return wrong.join("\n");
}

function failing(port: Port, runId: string): readonly Row[] {
  return Object.entries(faults).map(([what, fault]) => async () => {
    const playing = start(port, fault, { runId });
    await playing.clock.advance(2 * limit);
    // A run needs several turns of the event loop to see that only the outside can move its nested run.
    await playing.clock.flush();
    return [what, await findEnd(playing), port.ends];
  });
}

/** Rows for a function that never answers. The run does not wait for this function. */
function ignored(port: Port, runId: string): readonly Row[] {
  return Object.entries(hangs).map(([what, hang]) => async () => {
    const { fault, settle } = hang();
    const playing = start(port, fault, { runId });
    await playing.clock.advance(10);
    return [what, await findEnd(playing, settle), port.ends];
  });
}

/** Rows for a function that never answers. The run waits for this function until a timeout, or until a test ends the run. */
function hanging({ hung, ...port }: Port & { hung: string }, runId: string): readonly Row[] {
  const isJournal = hung === "journal-unresponsive";
  const hows = [...(hung === "never" ? [] : [undefined]), ...(Object.keys(endings) as How[])];
  return Object.entries(hangs).flatMap(([what, hang], index) =>
    // A late answer has the same effect in every ending, so only functions that never answer are tested with all endings.
    (index === 0 ? hows : hows.slice(0, 2)).map((how) => async () => {
      const { fault, settle } = hang();
      const playing = start(port, fault, { runId, how });
      await playing.clock.advance(10);
      const early = playing.endedAt();
      const kind = how === undefined ? undefined : endIn(playing, how);
      await playing.clock.advance(kind === undefined ? 10 * limit : graceMs + 100);
      const end = await findEnd(playing, settle);
      const isRejected = isJournal && (how !== "wall-clock" || port.endsAtWallClock !== true);
      const expected = isRejected ? `${hung} ${kind === undefined ? "in time" : how}` : (kind ?? hung);
      return [`${what}, ${how ?? "nobody ends it"}`, early === undefined ? end : "does not wait", [expected]];
    }),
  );
}

function endIn(playing: Playing, how: How): string | undefined {
  const { end, kind } = endings[how];
  return end(playing) === "finished" ? undefined : kind;
}

const all = Object.entries(ports);

it.each(all)(
  "runToolLoop ends with the expected reason and releases everything if %s throws or returns an invalid value",
  async (runId, port) => {
    expect(await findWrong(runId, failing(port, runId))).toBe("");
  },
);

it.each(all)(
  "runToolLoop ends with the expected reason and releases everything if %s never answers or answers late",
  async (runId, port) => {
    const { hangs: hung } = port;
    const rows = hung === undefined ? ignored(port, runId) : hanging({ ...port, hung }, runId);
    expect(await findWrong(runId, rows)).toBe("");
  },
);
