import { Pool } from "pg";
import { describe, expect, it } from "vitest";
import type { LoopEvent } from "turnwright";
import { defineDurableHost, defineDurableLoop } from "turnwright/dbos";
import { createMockProvider, finish, text, toolCall, wait } from "turnwright/testing";
import { own } from "./own-run.ts";
import { PostgresStore } from "../../src/dbos/postgres-store.ts";
import { EventWriter } from "../../src/host/durable/event-writer.ts";
import type { DurableStore } from "../../src/host/durable/durable-store.ts";
import { useWorker } from "./use-database.ts";

const database = useWorker();
let isFirst = true;

const cut = defineDurableLoop({
  name: "cut",
  options: ({ kind }: { readonly kind: "continuation" | "call" }) => ({
    provider: createMockProvider(({ iteration, continuationToken }) => {
      if (kind === "continuation") {
        if (continuationToken === undefined) return [text("A. "), finish("continue", { token: "token" })];
        return isFirst ? [text("B1 "), wait(60_000)] : text("B1 B2.");
      }
      if (iteration === 1) return text("Done.");
      return isFirst ? [text("Hello wor"), wait(60_000)] : toolCall("unknown", {});
    }),
    messages: [{ role: "user" as const, content: "Go." }],
  }),
});
const hostA = defineDurableHost({ name: "a", options: () => ({ provider: createMockProvider(() => text("A.")) }) });
const hostB = defineDurableHost({
  name: "b",
  options: ({ input }) => {
    if (input === "bad") throw new Error("Bad input.");
    return { provider: createMockProvider(() => text("B.")) };
  },
});

/** Returns the text that a page shows. The page drops the text of the current iteration when an attempt is discarded. */
function shownBy(events: readonly LoopEvent[]): string {
  let before = "";
  let shown = "";
  for (const event of events) {
    if (event.type === "iteration-start") before = shown;
    if (event.type === "text-delta") shown += event.text;
    if (event.type === "attempt-discarded") shown = before;
  }
  return shown;
}

async function runCutOff(id: string, kind: "continuation" | "call", last: string): Promise<readonly LoopEvent[]> {
  isFirst = true;
  await cut.start(id, { kind });
  for await (const { event } of cut.events(id)) if (event.type === "text-delta" && event.text === last) break;
  await database.worker.stop();
  isFirst = false;
  await database.launch();
  const events: LoopEvent[] = [];
  for await (const { event } of cut.events(id)) events.push(event);
  return events;
}

describe("the events of a durable stream that was interrupted", () => {
  it("are replaced without loss of earlier text if the stream was a continuation", async () => {
    const events = await runCutOff("continued", "continuation", "B1 ");
    expect([shownBy(events), (await cut.result("continued")).text]).toEqual(["A. B1 B2.", "A. B1 B2."]);
  });

  it("are discarded even if the new stream has no text", async () => {
    const events = await runCutOff("called", "call", "Hello wor");
    expect(shownBy(events)).toBe("Done.");
    expect(events.filter(({ type }) => type === "attempt-discarded")).toHaveLength(1);
  });
});

describe("a durable conversation's id", () => {
  it("is rejected immediately by each method if Postgres cannot store it", async () => {
    for (const id of ["x\0y", "\uD800", "", "a".repeat(501)]) {
      const calls = [hostA.start(id, { message: "?" }), hostA.status(id), hostA.join(id), hostA.stop(id), hostA.retry(id)];
      for (const call of await Promise.allSettled(calls)) {
        expect(call).toMatchObject({ status: "rejected", reason: { code: "invalid-option", details: { option: "id" } } });
      }
    }
    await expect(cut.events("x\0y").next()).rejects.toMatchObject({ code: "invalid-option" });
  });

  it("belongs to the first host that used the id", async () => {
    expect((await hostA.start("same", { message: "?" })).kind).toBe("started");
    expect(await hostB.status("same")).toBeUndefined();
    await expect(hostB.start("same", { message: "?" })).rejects.toThrow('because the run "same/1" belongs to a different loop');
  });
});

describe("a durable conversation whose options function throws", () => {
  it("reports the error in its status", async () => {
    const first = await hostB.start("bad", { message: "First.", input: "bad" });
    if (first.kind !== "started") throw new Error("The run did not start.");
    await expect(first.result()).rejects.toThrow("Bad input.");
    expect(await hostB.status("bad")).toMatchObject({ status: "error", error: "Bad input.", messages: [{ content: "First." }] });
    const next = await hostB.start("bad", { message: "Second." });
    expect(next.kind === "started" && (await next.result()).messages).toHaveLength(3);
  });
});

describe("PostgresStore", () => {
  it("rejects events from an old execution of a deleted run", async () => {
    const pool = new Pool({ connectionString: database.url });
    pool.on("error", () => {});
    const store = new PostgresStore(pool, "tester");
    await own(pool, "reused", "tester");
    const old = await store.begin("reused", 1);
    await store.deleteRuns(["reused"]);
    const now = await store.begin("reused", 2);
    const added = { first: 0, events: ["{}"], records: [], blobs: new Map([["f", "secret"]]), isProgress: true };
    expect(await store.append("reused", old.execution, added)).toBe(false);
    expect([await store.countEvents("reused"), await store.readBlobs("reused")]).toEqual([0, new Map()]);
    expect(await store.append("reused", now.execution, added)).toBe(true);
    // If the answer to an append was lost, the store repeats the append.
    expect(await store.append("reused", now.execution, added)).toBe(true);
    expect(await store.countEvents("reused")).toBe(1);
    await pool.end();
  });

  it("receives each event once and in order, even if some writes fail", async () => {
    const written: string[] = [];
    let failures = 2;
    const store: Pick<DurableStore, "begin" | "append" | "readEvents"> = {
      begin: async () => ({ execution: 1, events: 0, stalls: 0 }),
      append: async (_runId, _execution, { first, events }) => {
        if (failures > 0) {
          failures -= 1;
          throw new Error("The connection is lost.");
        }
        expect(first).toBe(written.length);
        written.push(...events);
        return true;
      },
      readEvents: async () => [],
    };
    const writer = await EventWriter.begin(store as DurableStore, "flaky", 1);
    for (const part of ["a", "b"]) writer.take({ type: "text-delta", runId: "flaky", iteration: 0, text: part });
    const flushed = writer.flush();
    writer.take({ type: "text-delta", runId: "flaky", iteration: 0, text: "c" });
    await flushed;
    await writer.flush();
    writer.close();
    expect(written.map((body) => (JSON.parse(body) as { event: { text: string } }).event.text)).toEqual(["a", "b", "c"]);
  });
});
