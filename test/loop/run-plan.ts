import { setImmediate } from "node:timers/promises";
import { expect } from "vitest";
import {
  createLoopControl,
  type LoopControl,
  type LoopEvent,
  type LoopOptions,
  type LoopResult,
  onIteration,
  prepareIteration,
  type Provider,
  runToolLoop,
  type SavedJournal,
} from "turnwright";
import { createMockProvider, createTestClock, type MockProvider, type MockScript, recordEvents, text } from "turnwright/testing";
import { countListeners } from "./count-listeners.ts";
import { answersOf } from "./play.ts";
import { middlewareOf, pricingOf, wrap } from "./random-middleware.ts";
import type { Plan, Verb } from "./random-run.ts";
import { openWorkshop, type Workshop } from "./random-tools.ts";
import { textsOf } from "./transcript-lines.ts";

const listeners = countListeners();
/** The maximum real time in milliseconds for one run. Only a run that hangs takes this long. */
const maxWaitMs = 10_000;

export interface Ended {
  readonly result: LoopResult;
  readonly endedAt: number;
  readonly provider: MockProvider;
  readonly workshop: Workshop;
  readonly options: LoopOptions;
  readonly accepted: readonly string[];
}

/** Options that replace options of the plan, or a function that changes the options of the plan. */
export type More = Partial<LoopOptions> | ((own: LoopOptions) => LoopOptions);

/** Uses a test clock. Checks that no message is lost, and that no timer or stream is open at the end. */
export async function runPlan(plan: Plan, more: More = {}, ran: string[] = []): Promise<Ended> {
  const clock = createTestClock();
  const control = createLoopControl();
  const abort = new AbortController();
  const workshop = openWorkshop(plan, clock, ran);
  const provider = createMockProvider(turnsOf(plan));
  const recording = recordEvents();
  const { limits, toolCleanupMs, hooks } = plan;
  const own: LoopOptions = {
    provider: wrap(plan, provider),
    messages: [{ role: "user", content: "Go." }],
    tools: workshop.tools,
    runId: "random",
    clock,
    control,
    signal: abort.signal,
    events: recording.emitter,
    limits,
    timeouts: {
      ...{ toolCleanupMs, streamIdleMs: 400, firstChunkMs: 600, toolMs: 350, callbackMs: 100, approvalMs: 250 },
      // The disk is slower than the test clock, so a journal file would exceed any time limit.
      journalMs: Infinity,
    },
    middleware: [
      hooks && onIteration(async () => undefined),
      hooks && prepareIteration(async () => ({ toolChoice: "auto" })),
      ...middlewareOf(plan, workshop),
    ],
    pricing: pricingOf(plan),
  };
  const options = typeof more === "function" ? more(own) : { ...own, ...more };
  const accepted: string[] = [];
  const act = createActor(control, abort, accepted);
  const verbs = [...plan.verbs].sort((a, b) => a.atMs - b.atMs);
  const early = verbs.filter(({ atMs }) => atMs < 0);
  early.forEach(act);
  const atEnd: { readonly now: number; readonly timers: number; readonly listeners: number }[] = [];
  const running = runToolLoop(options).finally(() => {
    atEnd.push({ now: clock.now(), timers: clock.pending - workshop.timers(), listeners: listeners.on(abort.signal) });
  });
  running.catch(() => undefined);
  for (const verb of verbs.slice(early.length)) {
    await clock.advance(verb.atMs - clock.now());
    act(verb);
  }
  // This wait needs real time, because a journal file writes to the disk.
  for (const giveUpAt = performance.now() + maxWaitMs; atEnd.length === 0 && performance.now() < giveUpAt;) {
    await clock.runAll();
    if (atEnd.length === 0) await setImmediate();
  }
  const [end] = atEnd;
  if (end === undefined) throw new Error("The run hangs.");
  const result = await running;
  expect(end).toMatchObject({ timers: 0, listeners: 0 });
  // Only events of nested runs have a path.
  const told = recording.events.filter(({ path }) => path === undefined);
  expect(told.filter(({ type }) => type === "run-end")).toHaveLength(1);
  expect(told.at(-1)?.type).toBe("run-end");
  expect(result.streamResults.map((iteration) => iteration.text).join("")).toBe(heard(told));
  return { result, endedAt: end.now, provider, workshop, options, accepted };
}

function heard(events: readonly LoopEvent[]): string {
  let before = "";
  let said = "";
  for (const event of events) {
    if (event.type === "iteration-start") [before, said] = [before + said, ""];
    // Without `attempt`, the event is about a retried run. The discarded message stays in streamResults, so its text still counts.
    else if (event.type === "attempt-discarded" && event.attempt !== undefined) said = "";
    else if (event.type === "text-delta") said += event.text;
  }
  return before + said;
}

function createActor(control: LoopControl, abort: AbortController, accepted: string[]): (verb: Verb) => void {
  return ({ atMs, verb, id }) => {
    const said = `${verb} ${id} at ${atMs}`;
    if (verb === "abort") abort.abort("gone");
    else if (verb !== "steer" && verb !== "interrupt") control[verb]();
    else if (control[verb](said) === "accepted") accepted.push(said);
  };
}

/** Each accepted message must be in `messages`, in `undelivered` or in the reason. The messages must be in order. */
export function checkMessages({ result, accepted }: Ended): void {
  const { messages, undelivered, reason } = result;
  const isSaid = (said: string): boolean => /^(steer|interrupt) /.test(said);
  const sent = messages.flatMap((message) => (message.role === "user" ? textsOf([message]) : [])).filter(isSaid);
  const back = textsOf(undelivered);
  const consumed = reason.kind === "interrupted" ? textsOf([reason.message]) : [];
  expect([...sent, ...back, ...consumed].sort()).toEqual([...accepted].sort());
  for (const list of [sent, back]) expect(list).toEqual(accepted.filter((said) => list.includes(said)));
  expect(sent.filter((said) => said.startsWith("interrupt"))).toEqual([]);
}

function turnsOf({ turns }: Plan): MockScript {
  return (_, index) => turns[index] ?? text('"The end."');
}

/** The results of all calls must follow the message with the calls. All call ids must be different. */
export function checkTranscript({ messages }: Pick<LoopResult, "messages">): void {
  messages.forEach((message, index) => {
    if (message.role !== "assistant") return;
    const calls = message.content.flatMap((part) => (part.type === "tool-call" ? [part.callId] : []));
    const next = messages[index + 1];
    expect(next?.role === "tool" ? next.results.map((part) => part.callId) : []).toEqual(calls);
  });
  const ids = answersOf({ messages }).map((part) => part.callId);
  expect(new Set(ids).size).toBe(ids.length);
}

export const untouchable: Provider = {
  id: "mock",
  model: "mock-model",
  stream: () => {
    throw new Error("asked again");
  },
};

/**
 * Returns a result as plain data, without its journal. Undelivered messages are not recorded, so a suspended run is compared
 * without them.
 */
export function comparable({ journal: _, undelivered, ...rest }: LoopResult): object {
  const isWaiting = rest.reason.kind === "approval-required";
  return JSON.parse(JSON.stringify(isWaiting ? rest : { ...rest, undelivered })) as object;
}
export const savedOf = ({ journal }: LoopResult): SavedJournal => JSON.parse(JSON.stringify(journal)) as SavedJournal;
export const calmly = (plan: Plan): Plan => ({ ...plan, verbs: [], limits: { ...plan.limits, wallClockMs: undefined } });
