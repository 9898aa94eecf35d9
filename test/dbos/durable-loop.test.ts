import { beforeAll, describe, expect, it } from "vitest";
import { defineTool } from "turnwright";
import { defineDurableLoop, type DurableEvent, launchWorker } from "turnwright/dbos";
import { parseRunLog, runLog } from "turnwright/inspect";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { endingKinds, optionsOfEnding, resultOfEnding, timeless } from "../host/whole-results.ts";
import { useWorker } from "./use-database.ts";
import { addWatchers } from "../add-watchers.ts";

const database = useWorker();
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

const rooms = defineDurableLoop({
  name: "rooms",
  options: ({ question, approves = false }: { question: string; approves?: boolean }) => ({
    provider: createMockProvider(({ iteration, messages }) => {
      if (iteration === 0) return toolCall(approves ? "book" : "look", {});
      const said = messages.filter(({ role }) => role === "user").length;
      return text(`Done after ${said} messages.`);
    }),
    tools: [book, look],
    messages: [{ role: "user" as const, content: question }],
  }),
});

const logged: string[] = [];
/** All runs share the sink, so that their lines make one log. */
const sink = { write: (line: string): void => void logged.push(line) };
const endings = defineDurableLoop({
  name: "each ending",
  options: (kind: string) => optionsOfEnding(kind),
  wrapOptions: (options) => addWatchers(options, runLog({ to: sink })),
});

beforeAll(async () => {
  await Promise.all(endingKinds.map((kind) => endings.start(`ended-${kind}`, kind)));
}, 60_000);

async function readAll(id: string, from = 0): Promise<readonly DurableEvent[]> {
  const all: DurableEvent[] = [];
  for await (const one of rooms.events(id, { from })) all.push(one);
  return all;
}

function typesOf(events: readonly DurableEvent[]): readonly string[] {
  return events.map(({ event }) => event.type);
}

async function findWaiting(id: string): Promise<string> {
  for await (const { event } of rooms.events(id)) if (event.type === "approval-asked") break;
  for (;;) {
    const call = (await rooms.status(id))?.pendingCalls[0];
    if (call?.state === "awaiting-approval") return call.id;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

describe("defineDurableLoop", () => {
  it("returns the result and all events of a run", async () => {
    await rooms.start("run-1", { question: "A room?" });
    const result = await rooms.result("run-1");
    expect([result.status, result.text, result.messages.length, result.runId]).toEqual([
      "completed",
      "Done after 1 messages.",
      4,
      "run-1",
    ]);
    const events = await readAll("run-1");
    expect(typesOf(events)).toMatchInlineSnapshot(`
      [
        "run-start",
        "iteration-start",
        "tool-args-delta",
        "tool-args-end",
        "tool-start",
        "tool-end",
        "iteration-end",
        "iteration-start",
        "text-delta",
        "iteration-end",
        "run-end",
      ]
    `);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index));
    expect(await readAll("run-1", 5)).toEqual(events.slice(5));
    expect((await rooms.status("run-1"))?.status).toBe("completed");
  });

  it.each(endingKinds)("returns the same result as runToolLoop, and logs the run, for a run that ended as %s", async (kind) => {
    const id = `ended-${kind}`;
    expect(timeless(await endings.result(id))).toEqual(await resultOfEnding(kind, id));
    expect(parseRunLog(logged.join("")).runs.find(({ runId }) => runId === id)?.status).toBeDefined();
  });

  it("starts only one run for two starts with the same id", async () => {
    await rooms.start("run-1", { question: "Another room?" });
    expect((await rooms.result("run-1")).messages[0]).toMatchObject({ content: "A room?" });
  });

  it("rejects an invalid id, an invalid input and an invalid `from` option", async () => {
    await expect(rooms.start("", { question: "?" })).rejects.toMatchObject({ code: "invalid-option", details: { option: "id" } });
    const cyclic: { question: string; self?: unknown } = { question: "?" };
    cyclic.self = cyclic;
    await expect(rooms.start("run-x", cyclic)).rejects.toMatchObject({ code: "invalid-option", details: { option: "input" } });
    expect(() => rooms.events("run-1", { from: -1 })).toThrow(/Option "from" is .*, but must be a whole number of at least 0/);
    expect(await rooms.status("run-x")).toBeUndefined();
  });

  it("rejects an invalid steering message or stop request", async () => {
    await expect(rooms.steer("run-1", "")).rejects.toMatchObject({ code: "invalid-option", details: { option: "message" } });
    await expect(rooms.steer("run-1", { role: "assistant" } as never)).rejects.toMatchObject({ code: "invalid-option" });
    await expect(rooms.stop("run-1", { who: "Kim" } as never)).rejects.toMatchObject({ code: "unknown-option" });
  });

  it("returns undefined as the status of an unknown run", async () => {
    expect(await rooms.status("no-run")).toBeUndefined();
  });

  it("suspends a run until a decision arrives", async () => {
    await rooms.start("run-2", { question: "Book it.", approves: true });
    const call = await findWaiting("run-2");
    await expect(rooms.decide("run-2", "call_x", { kind: "approve" })).rejects.toMatchObject({ code: "unknown-decision" });
    const wrong = rooms.decide("run-2", call, { kind: "result", result: 1 });
    await expect(wrong).rejects.toMatchObject({ code: "invalid-decision", details: { waitsFor: "approval" } });
    await rooms.decide("run-2", call, { kind: "approve" });
    await rooms.decide("run-2", call, { kind: "deny" }).catch(() => {});
    const result = await rooms.result("run-2");
    expect([result.status, booked]).toEqual(["completed", 1]);
  });

  it("stops a run that is waiting for a decision", async () => {
    await rooms.start("run-3", { question: "Book it.", approves: true });
    await findWaiting("run-3");
    await rooms.stop("run-3", { requester: "Kim" });
    expect((await rooms.result("run-3")).reason).toMatchObject({ kind: "stopped" });
    expect(booked).toBe(1);
  });

  it("kills a run while a tool is running", async () => {
    hold = new Promise(() => {});
    await rooms.start("run-4", { question: "A room?" });
    for await (const { event } of rooms.events("run-4")) if (event.type === "tool-start") break;
    await rooms.kill("run-4");
    expect((await rooms.result("run-4")).reason).toMatchObject({ kind: "killed" });
  });

  it("passes a steering message to the next iteration once", async () => {
    let release: () => void = () => {};
    hold = new Promise((resolve) => (release = resolve));
    await rooms.start("run-5", { question: "A room?" });
    for await (const { event } of rooms.events("run-5")) if (event.type === "tool-start") break;
    await rooms.steer("run-5", "On the first floor.");
    release();
    const result = await rooms.result("run-5");
    expect([result.text, result.undelivered]).toEqual(["Done after 2 messages.", []]);
    expect(typesOf(await readAll("run-5"))).toContain("steered");
  });
});

describe("launchWorker", () => {
  it("rejects a second worker in the process", async () => {
    await expect(launchWorker({ databaseUrl: database.url })).rejects.toThrow("A worker is already running in this process.");
    const wrong = launchWorker({ databaseUrl: database.url, leaseMs: 1 });
    await expect(wrong).rejects.toMatchObject({ code: "invalid-option", details: { option: "leaseMs" } });
  });
});
