// The checks of a durable loop in one worker: results, events, decisions, stops and errors.

import { deepEqual, equal, match, ok, rejects, throws } from "node:assert/strict";
import { defineAgentTool, defineTool } from "turnwright";
import { parseRunLog, runLog } from "turnwright/inspect";
import { defineDurableLoop, type DurableEvent, launchWorker, type Worker } from "turnwright/restate";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { endingKinds, optionsOfEnding, resultOfEnding, timeless } from "../host/whole-results.ts";
import type { Check } from "./checks.ts";
import { checkFields, hasFields } from "./check-fields.ts";
import { findFreePort, type RestateServer, startRestate } from "./start-restate.ts";
import { addWatchers } from "../add-watchers.ts";

let server: RestateServer;
let worker: Worker;
let port = 0;
let booked = 0;
let hold: Promise<void> = Promise.resolve();

const book = defineTool({
  name: "book",
  description: "Books a room",
  inputSchema: { type: "object" },
  needsApproval: true,
  execute: () => ({ booking: ++booked }),
});
const look = defineTool({
  name: "look",
  description: "Looks for a room",
  inputSchema: { type: "object" },
  execute: async (_, { signal }) => {
    await Promise.race([hold, new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)))]);
    return "Room 7";
  },
});

let naps = 0;
const nap = defineTool({
  name: "nap",
  description: "Waits",
  inputSchema: { type: "object" },
  replay: "safe",
  execute: async () => {
    naps += 1;
    await hold;
    return "Rested.";
  },
});
const research = defineAgentTool({
  name: "research",
  description: "Looks things up",
  inputSchema: { type: "object" },
  prepare: () => ({
    provider: createMockProvider(({ iteration }) => (iteration < 2 ? toolCall("nap", {}) : text("Found."))),
    tools: [nap],
    messages: [{ role: "user", content: "Look it up." }],
  }),
});

let failure: Error | undefined;

interface Question {
  readonly question: string;
  readonly approves?: boolean;
  readonly fails?: boolean;
  /** How many nested runs the model asks for. */
  readonly agents?: number;
  /** In how many iterations the model asks for nested runs. */
  readonly rounds?: number;
}

const defineRooms = () =>
  defineDurableLoop({
    name: "rooms",
    options: ({ question, approves = false, fails = false, agents = 0, rounds = 1 }: Question) => {
      if (fails && failure !== undefined) throw failure;
      return {
        provider: createMockProvider(({ iteration, messages }) => {
          if (iteration < rounds && agents > 0) return Array.from({ length: agents }, () => toolCall("research", {}));
          if (iteration === 0) return toolCall(approves ? "book" : "look", {});
          const said = messages.filter(({ role }) => role === "user").length;
          return text(`Done after ${said} messages.`);
        }),
        tools: [book, look, research],
        messages: [{ role: "user" as const, content: question }],
      };
    },
  });

const launch = (suspendMs = 10_000): Promise<Worker> =>
  launchWorker({ ingressUrl: server.ingressUrl, adminUrl: server.adminUrl, port, suspendMs });

const logged: string[] = [];
/** All runs share the sink, so that their lines make one log. */
const sink = { write: (line: string): void => void logged.push(line) };
const defineEndings = () =>
  defineDurableLoop({
    name: "endings",
    options: (kind: string) => optionsOfEnding(kind),
    wrapOptions: (options) => addWatchers(options, runLog({ to: sink })),
  });

let rooms: ReturnType<typeof defineRooms>;
let endings: ReturnType<typeof defineEndings>;

export async function begin(): Promise<void> {
  rooms = defineRooms();
  endings = defineEndings();
  server = await startRestate();
  // Restate identifies a worker by its address, so all workers of these checks use the same port.
  port = await findFreePort();
  worker = await launch();
  await Promise.all(endingKinds.map((kind) => endings.start(`ended-${kind}`, kind)));
}

export async function end(): Promise<void> {
  await worker.stop();
  await server.stop();
}

async function readAll(id: string, from = 0): Promise<readonly DurableEvent[]> {
  const all: DurableEvent[] = [];
  for await (const one of rooms.events(id, { from })) all.push(one);
  return all;
}

const typesOf = (events: readonly DurableEvent[]): readonly string[] => events.map(({ event }) => event.type);

async function untilEvent(id: string, type: string): Promise<DurableEvent> {
  for await (const one of rooms.events(id)) if (one.event.type === type) return one;
  throw new Error(`The run "${id}" has ended without ${type}.`);
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function findWaiting(id: string): Promise<string> {
  await untilEvent(id, "approval-asked");
  for (;;) {
    const call = (await rooms.status(id))?.pendingCalls[0];
    if (call?.state === "awaiting-approval") return call.id;
    await sleep(10);
  }
}

function post(url: string, body: unknown): Promise<Response> {
  const headers = { "content-type": "application/json", accept: "application/json" };
  return fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
}

/** A resting workflow has the status "backing-off": Restate waits before it calls a worker again. */
async function untilResting(id: string): Promise<void> {
  const query = `SELECT status FROM sys_invocation WHERE target_service_key = '${id}' AND target_handler_name = 'run'`;
  for (let status = ""; status !== "backing-off"; await sleep(20)) {
    const response = await post(`${server.adminUrl}/query`, { query });
    status = ((await response.json()) as { rows: { status: string }[] }).rows[0]?.status ?? "";
  }
}

async function checkRun(): Promise<void> {
  equal(await rooms.start("run-1", { question: "A room?" }), "started");
  const { status, text: answer, messages, runId } = await rooms.result("run-1");
  deepEqual([status, answer, messages.length, runId], ["completed", "Done after 1 messages.", 4, "run-1"]);
  const events = await readAll("run-1");
  const first = ["run-start", "iteration-start", "tool-args-delta", "tool-args-end", "tool-start", "tool-end", "iteration-end"];
  deepEqual(typesOf(events), [...first, "iteration-start", "text-delta", "iteration-end", "run-end"]);
  deepEqual(
    events.map(({ seq }) => seq),
    events.map((_, index) => index),
  );
  deepEqual(await readAll("run-1", 5), events.slice(5));
  deepEqual(await readAll("run-1", 500), []);
  equal((await rooms.status("run-1"))?.status, "completed");
}

/** Restate calls this handler when the retention of a run has ended. */
async function clear(id: string, invocation: string): Promise<void> {
  equal((await post(`${server.ingressUrl}/turnwright-runs/${id}/clear`, invocation)).ok, true);
}

async function checkClear(): Promise<void> {
  await rooms.start("run-9", { question: "A room?" });
  await rooms.result("run-9");
  await clear("run-9", "inv_of_another_run");
  equal((await rooms.status("run-9"))?.status, "completed");
  const query = "SELECT id FROM sys_invocation WHERE target_service_key = 'run-9' AND target_handler_name = 'run'";
  const { rows } = (await (await post(`${server.adminUrl}/query`, { query })).json()) as { rows: { id: string }[] };
  await clear("run-9", rows[0]?.id ?? "");
  equal(await rooms.status("run-9"), undefined);
}

async function checkSameId(): Promise<void> {
  equal(await rooms.start("run-1", { question: "Another room?" }), "exists");
  checkFields((await rooms.result("run-1")).messages[0], { content: "A room?" });
}

async function checkInvalid(): Promise<void> {
  const refused = (option: string) => ({ code: "invalid-option", details: { option } });
  for (const id of ["", ".", "..", "a\0b"]) await rejects(rooms.start(id, { question: "?" }), hasFields(refused("id")));
  throws(() => rooms.events("run-1", { from: -1 }), /Option "from" is -1, but must be a whole number of at least 0/);
  equal(await rooms.status("run-x"), undefined);
  const calls = [rooms.result("run-x"), rooms.kill("run-x"), rooms.retry("run-x"), rooms.events("run-x").next()];
  for (const call of await Promise.allSettled(calls)) checkFields(call, { status: "rejected", reason: refused("id") });
  const wrong = { ingressUrl: server.ingressUrl, adminUrl: server.adminUrl };
  await rejects(launchWorker({ ...wrong, name: "two words" }), hasFields(refused("name")));
  await rejects(launchWorker({ ...wrong, suspendMs: -1 }), hasFields(refused("suspendMs")));
  await rejects(launchWorker(wrong), /A worker is already running in this process/);
}

async function checkDecision(): Promise<void> {
  await rooms.start("run-2", { question: "Book it.", approves: true });
  const call = await findWaiting("run-2");
  await rejects(rooms.decide("run-2", "call_x", { kind: "approve" }), hasFields({ code: "unknown-decision" }));
  await rejects(rooms.decide("run-2", call, { kind: "result", result: 1 }), hasFields({ code: "invalid-decision" }));
  await rooms.decide("run-2", call, { kind: "approve" });
  await rooms.decide("run-2", call, { kind: "deny" }).catch(() => {});
  const { status } = await rooms.result("run-2");
  deepEqual([status, booked], ["completed", 1]);
}

async function checkStopWaiting(): Promise<void> {
  await rooms.start("run-3", { question: "Book it.", approves: true });
  await findWaiting("run-3");
  equal(await rooms.stop("run-3", { requester: "Kim" }), "accepted");
  equal((await rooms.result("run-3")).reason.kind, "stopped");
  deepEqual([booked, await rooms.stop("run-3")], [1, "finished"]);
}

async function checkKill(): Promise<void> {
  hold = new Promise(() => {});
  await rooms.start("run-4", { question: "A room?" });
  await untilEvent("run-4", "tool-start");
  const begunAt = performance.now();
  await rooms.kill("run-4");
  equal((await rooms.result("run-4")).reason.kind, "killed");
  const tookMs = performance.now() - begunAt;
  ok(tookMs < 3_000, `The kill took ${tookMs} ms.`);
}

async function checkSteer(): Promise<void> {
  let release: () => void = () => {};
  hold = new Promise((resolve) => (release = resolve));
  await rooms.start("run-5", { question: "A room?" });
  await untilEvent("run-5", "tool-start");
  await rooms.steer("run-5", "On the first floor.");
  release();
  const { text: answer, undelivered } = await rooms.result("run-5");
  deepEqual([answer, undelivered], ["Done after 2 messages.", []]);
  ok(typesOf(await readAll("run-5")).includes("steered"));
}

/** Keeps the calls that begin from now on waiting. Returns a function that ends their waiting. */
function holdCalls(): () => void {
  let release: () => void = () => {};
  hold = new Promise((resolve) => (release = resolve));
  return release;
}

async function untilNaps(count: number): Promise<void> {
  const until = performance.now() + 30_000;
  const isReached = (): boolean => naps >= count;
  while (!isReached() && performance.now() < until) await sleep(10);
  equal(naps, count);
}

async function checkSteeredOnce(id: string): Promise<void> {
  const { status, text: answer, undelivered } = await rooms.result(id);
  deepEqual([status, answer, undelivered], ["completed", "Done after 2 messages.", []]);
  equal(typesOf(await readAll(id)).filter((type) => type === "steered").length, 1);
}

async function checkSteerNested(): Promise<void> {
  naps = 0;
  const release = holdCalls();
  await rooms.start("nested-1", { question: "Research it.", agents: 3 });
  await untilNaps(1);
  await rooms.steer("nested-1", "Once.");
  release();
  await checkSteeredOnce("nested-1");
  equal(naps, 6);
}

async function checkSteerStoppedNested(): Promise<void> {
  naps = 0;
  const first = holdCalls();
  await rooms.start("nested-2", { question: "Research it.", agents: 1 });
  await untilNaps(1);
  await rooms.steer("nested-2", "Only half of it.");
  const second = holdCalls();
  first();
  await untilNaps(2);
  await relaunch(10_000);
  await untilNaps(3);
  second();
  await checkSteeredOnce("nested-2");
}

async function checkSteeredBeforeStop(): Promise<void> {
  naps = 0;
  const first = holdCalls();
  await rooms.start("nested-3", { question: "Research it.", agents: 1, rounds: 2 });
  await untilNaps(1);
  await rooms.steer("nested-3", "Only half of it.");
  const second = holdCalls();
  first();
  await untilNaps(2);
  const third = holdCalls();
  second();
  // The second iteration has read the message by now.
  await untilNaps(3);
  await relaunch(10_000);
  await untilNaps(4);
  third();
  await checkSteeredOnce("nested-3");
}

interface Head {
  readonly worker: string;
  readonly claim: number;
  readonly execution: number;
  readonly stalls: number;
}

/** Calls a handler of the virtual object of a run. */
async function callRun<T>(id: string, handler: string, parameter: unknown): Promise<T> {
  const response = await post(`${server.ingressUrl}/turnwright-runs/${id}/${handler}`, parameter);
  equal(response.status, 200);
  return (await response.json()) as T;
}

async function checkRepeatedBegin(): Promise<void> {
  const release = holdCalls();
  await rooms.start("begun-1", { question: "A room?" });
  await untilEvent("begun-1", "tool-start");
  const { worker: id, claim, execution, stalls } = await callRun<Head>("begun-1", "peek", null);
  const again = await callRun<Head>("begun-1", "begin", { worker: id, claim });
  deepEqual([again.execution, again.stalls], [execution, stalls]);
  release();
  equal((await rooms.result("begun-1")).status, "completed");
  equal((await callRun<Head>("begun-1", "peek", null)).execution, execution);
}

async function checkForeignBegin(): Promise<void> {
  const release = holdCalls();
  await rooms.start("begun-2", { question: "A room?" });
  await untilEvent("begun-2", "tool-start");
  const { execution } = await callRun<Head>("begun-2", "peek", null);
  const foreign = await callRun<Head>("begun-2", "begin", { worker: "another", claim: 1 });
  deepEqual([foreign.execution, foreign.stalls], [execution + 1, 1]);
  release();
  equal((await rooms.result("begun-2")).status, "completed");
  ok((await callRun<Head>("begun-2", "peek", null)).execution > foreign.execution);
}

async function checkFailedRun(): Promise<void> {
  failure = new Error("No options for you.");
  await rooms.start("run-6", { question: "A room?", fails: true });
  await rejects(rooms.result("run-6"), /No options for you/);
  await rejects(readAll("run-6"), /No options for you/);
  failure = new Error("Not yet.");
  await rooms.retry("run-6");
  await rejects(rooms.result("run-6"), /Not yet/);
  failure = undefined;
  await rooms.retry("run-6");
  equal((await rooms.result("run-6")).text, "Done after 1 messages.");
  await rejects(rooms.retry("run-6"), /the id of a failed run/);
}

async function checkLateFailure(): Promise<void> {
  await rooms.start("run-8", { question: "Book it.", approves: true, fails: true });
  await findWaiting("run-8");
  failure = new Error("No more options.");
  await relaunch(10_000);
  await rejects(rooms.result("run-8"), /No more options/);
  failure = undefined;
  await rooms.retry("run-8");
  await rooms.stop("run-8");
  equal((await rooms.result("run-8")).reason.kind, "stopped");
}

async function relaunch(suspendMs: number): Promise<void> {
  await Promise.all([worker.stop(), worker.stop()]);
  worker = await launch(suspendMs);
}

async function checkResting(): Promise<void> {
  await relaunch(50);
  for (const id of ["resting-1", "resting-2"]) await rooms.start(id, { question: "Book it.", approves: true });
  for (const id of ["resting-1", "resting-2"]) await untilResting(id);
  const call = await findWaiting("resting-1");
  await rooms.decide("resting-1", call, { kind: "approve" });
  await rooms.stop("resting-2");
  equal((await rooms.result("resting-1")).status, "completed");
  equal((await rooms.result("resting-2")).reason.kind, "stopped");
  equal(booked, 2);
}

async function checkStoppedWorker(): Promise<void> {
  hold = new Promise(() => {});
  await rooms.start("run-7", { question: "A room?" });
  const { seq } = await untilEvent("run-7", "tool-start");
  const both = Promise.allSettled([rooms.events("run-7", { from: seq + 1 }).next(), rooms.result("run-7")]);
  await worker.stop();
  for (const one of await both) match(String(one.status === "rejected" && one.reason), /worker in this process was stopped/);
  await rejects(rooms.kill("run-7"), /No worker is running in this process/);
  hold = Promise.resolve();
  worker = await launch();
  const { status, messages } = await rooms.result("run-7");
  equal(status, "completed");
  // The call had begun, and its tool lacks `replay: "safe"`, so the call must not run again.
  checkFields(messages[2], { role: "tool", results: [{ outcome: "interrupted" }] });
  equal(typesOf(await readAll("run-7")).filter((type) => type === "tool-end").length, 1);
}

async function checkLongIds(): Promise<void> {
  const id = `${"ü".repeat(500)} /?#%"'`;
  await rooms.start(id, { question: "A room?" });
  equal((await rooms.result(id)).status, "completed");
  equal((await readAll(id)).at(-1)?.event.type, "run-end");
}

async function checkResult(kind: string): Promise<void> {
  const id = `ended-${kind}`;
  deepEqual(timeless(await endings.result(id)), await resultOfEnding(kind, id));
  ok(parseRunLog(logged.join("")).runs.find(({ runId }) => runId === id)?.status);
}

export const checks: readonly Check[] = [
  ...endingKinds.map((kind) => ({
    title: `returns the same result as runToolLoop, and logs the run, for a run that ended as ${kind}`,
    run: () => checkResult(kind),
  })),
  { title: "returns the result and all events of a run", run: checkRun },
  { title: "starts only one run for two starts with the same id", run: checkSameId },
  { title: "rejects invalid ids, positions and options", run: checkInvalid },
  { title: "suspends a run until a decision arrives", run: checkDecision },
  { title: "stops a run that is waiting for a decision", run: checkStopWaiting },
  { title: "kills a run within 3 seconds while a tool is running", run: checkKill },
  { title: "passes a steering message to the next iteration once", run: checkSteer },
  { title: "delivers a steering message once if several nested runs are in progress", run: checkSteerNested },
  { title: "delivers a steering message if the worker stops while a nested run is in progress", run: checkSteerStoppedNested },
  { title: "does not deliver a steering message again in the next worker", run: checkSteeredBeforeStop },
  { title: "changes nothing if an execution begins twice", run: checkRepeatedBegin },
  { title: "continues a run whose execution was fenced by another worker", run: checkForeignBegin },
  { title: "continues a failed run after a retry", run: checkFailedRun },
  { title: "rejects if the options function of a later worker throws", run: checkLateFailure },
  { title: "frees the worker of a run that waits for a long time", run: checkResting },
  { title: "continues a run of a stopped worker in the next worker", run: checkStoppedWorker },
  { title: "deletes the data of a run when Restate deletes the execution that ended the run", run: checkClear },
  { title: "accepts ids with characters that have a meaning in URLs", run: checkLongIds },
];
