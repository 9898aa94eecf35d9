import { describe, expect, it } from "vitest";
import { Client } from "pg";
import { defineTool } from "turnwright";
import { defineDurableLoop, type DurableEvent } from "turnwright/dbos";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { useWorker } from "./use-database.ts";

const database = useWorker();
let begin: () => void = () => {};

type Input = { readonly question: string; readonly does?: "fails" | "waits" | "starts" | "asks" };

const other = defineDurableLoop({
  name: "other",
  options: ({ question }: { readonly question: string }) => ({
    provider: createMockProvider(() => text("Other.")),
    messages: [{ role: "user" as const, content: question }],
  }),
});
const startOther = defineTool({
  name: "start_other",
  description: "Starts a run of another loop",
  inputSchema: { type: "object" },
  execute: async () => [await other.start("inner", { question: "?" }), (await other.result("inner")).text],
});
const waitLong = defineTool({
  name: "wait_long",
  description: "Waits until it is cancelled",
  inputSchema: { type: "object" },
  execute: (_args, { signal }) =>
    new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
});

const sign = defineTool({ name: "sign", description: "A person signs", inputSchema: { type: "object" } });

const loop = defineDurableLoop({
  name: "endings",
  options: async ({ question, does }: Input) => {
    begin();
    if (does === "fails") throw new Error("No options for you.");
    return {
      provider: createMockProvider(({ iteration }) => {
        if (iteration === 0 && does === "starts") return toolCall("start_other", {});
        if (iteration === 0 && does === "asks") return toolCall("sign", {});
        return iteration === 0 && does === "waits" ? toolCall("wait_long", {}) : text("Done.");
      }),
      tools: [startOther, waitLong, sign],
      messages: [{ role: "user" as const, content: question }],
    };
  },
});

async function readTypes(id: string, from = 0): Promise<readonly string[]> {
  const types: string[] = [];
  for await (const { event } of loop.events(id, { from })) types.push(event.type);
  return types;
}

async function startWaiting(id: string): Promise<DurableEvent> {
  await loop.start(id, { question: "?", does: "waits" });
  for await (const item of loop.events(id)) if (item.event.type === "tool-start") return item;
  throw new Error("The run has ended.");
}

describe("a durable run's events", () => {
  it("end with the run's error if the run rejects", async () => {
    const begun = new Promise<void>((resolve) => (begin = resolve));
    await loop.start("fails", { question: "?", does: "fails" });
    await begun;
    await expect(readTypes("fails")).rejects.toThrow("No options for you.");
    await expect(loop.result("fails")).rejects.toThrow("No options for you.");
    await expect(readTypes("fails")).rejects.toThrow("No options for you.");
  });

  it("end immediately if the `from` option is beyond the last event", async () => {
    await loop.start("short", { question: "?" });
    const types = await readTypes("short");
    expect(types.at(-1)).toBe("run-end");
    expect(await readTypes("short", types.length)).toEqual([]);
    expect(await readTypes("short", types.length + 100)).toEqual([]);
  });

  it("end without an error when a waiting reader stops reading", async () => {
    const { seq } = await startWaiting("left");
    const abort = new AbortController();
    const reader = loop.events("left", { from: seq + 1, signal: abort.signal });
    const waiting = reader.next();
    abort.abort();
    expect(await waiting).toEqual({ done: true, value: undefined });
    const second = loop.events("left", { from: seq + 1 });
    const pending = second.next();
    expect(await second.return?.()).toEqual({ done: true, value: undefined });
    expect(await pending).toEqual({ done: true, value: undefined });
    expect(await loop.kill("left")).toBe("accepted");
  });

  it("end with an error if the worker of the reading process is stopped", async () => {
    const { seq } = await startWaiting("stopped");
    const waiting = loop.events("stopped", { from: seq + 1 }).next();
    const result = loop.result("stopped");
    const both = Promise.allSettled([waiting, result]);
    await database.worker.stop();
    expect(await both).toMatchObject([
      { status: "rejected", reason: { message: "The worker in this process was stopped." } },
      { status: "rejected", reason: { message: "The worker in this process was stopped." } },
    ]);
    await expect(loop.kill("stopped")).rejects.toThrow("No worker is running in this process.");
    await database.launch();
    expect(await loop.kill("stopped")).toBe("accepted");
    expect((await loop.result("stopped")).reason.kind).toBe("killed");
  }, 30_000);
});

describe("a durable loop", () => {
  it("rejects ids of unknown runs and of runs from other loops", async () => {
    await other.start("of-other", { question: "?" });
    expect(await loop.start("of-other", { question: "?" })).toBe("exists");
    expect([await loop.status("of-other"), await loop.status("nobody")]).toEqual([undefined, undefined]);
    for (const id of ["of-other", "nobody"]) {
      const calls = [
        loop.result(id),
        loop.stop(id),
        loop.kill(id),
        loop.steer(id, "Hello?"),
        loop.retry(id),
        loop.decide(id, "call", { kind: "approve" }),
        loop.events(id).next(),
      ];
      for (const call of await Promise.allSettled(calls)) {
        expect(call).toMatchObject({ status: "rejected", reason: { code: "invalid-option", details: { option: "id" } } });
      }
    }
  });

  it('returns "finished" from stop(), kill() and steer() after the end of a run', async () => {
    await loop.start("over", { question: "?" });
    await loop.result("over");
    expect([await loop.stop("over"), await loop.kill("over"), await loop.steer("over", "Hello?")]).toEqual([
      "finished",
      "finished",
      "finished",
    ]);
    await expect(loop.retry("over")).rejects.toThrow("is the id of a run with a result, but must be the id of a failed run");
  });

  it("does not accept decisions after an operator has canceled its workflow", async () => {
    await loop.start("cancelled", { question: "?", does: "asks" });
    for await (const { event } of loop.events("cancelled", { endsWhenWaiting: true })) if (event.type === "run-end") break;
    const [call] = (await loop.status("cancelled"))?.pendingCalls ?? [];
    await database.pool.query("UPDATE dbos.workflow_status SET status = 'CANCELLED' WHERE workflow_uuid = 'cancelled'");
    const decided = loop.decide("cancelled", call?.id ?? "", { kind: "result", result: "Signed." });
    await expect(decided).rejects.toMatchObject({ code: "unknown-decision" });
  });

  it("returns a message that arrived too late in the result's `undelivered` field", async () => {
    await loop.start("late", { question: "?" });
    await loop.result("late");
    // After the end of a run, `steer` returns "finished" and writes nothing. This row is what `steer` writes if the run has read
    // its inbox for the last time, but has not ended yet.
    const client = new Client({ connectionString: database.url });
    await client.connect();
    const body = JSON.stringify({ verb: "steer", message: { role: "user", content: "One more thing." } });
    await client.query("INSERT INTO turnwright.messages (run_id, body) VALUES ('late', $1)", [body]);
    await client.end();
    expect((await loop.result("late")).undelivered).toEqual([{ role: "user", content: "One more thing." }]);
  });

  it("can be started and awaited in a tool of another durable run", async () => {
    await loop.start("outer", { question: "?", does: "starts" });
    const { messages } = await loop.result("outer");
    expect(messages[2]).toMatchObject({ role: "tool", results: [{ outcome: "completed" }] });
    expect(JSON.stringify(messages[2])).toContain("Other.");
  });

  it("rejects ids longer than 512 characters and ids that Postgres cannot store", async () => {
    const id = "ü".repeat(512);
    expect(await loop.start(id, { question: "?" })).toBe("started");
    expect((await readTypes(id)).at(-1)).toBe("run-end");
    for (const wrong of ["a".repeat(513), "a\0b", "a\uD800b", ""]) {
      await expect(loop.start(wrong, { question: "?" })).rejects.toMatchObject({ code: "invalid-option" });
    }
  });

  it("rejects a name that another loop in the process already has", () => {
    const again = () =>
      defineDurableLoop({ name: "other", options: () => ({ provider: createMockProvider(() => text("")), messages: [] }) });
    expect(again).toThrow(/Option "name" is .*, but must be a name that no other durable loop in this process uses/);
  });
});
