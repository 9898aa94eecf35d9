import { randomBytes } from "node:crypto";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { defineTool, type Json } from "turnwright";
import { defineDurableLoop, launchWorker, type Worker } from "turnwright/dbos";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { type Postgres, startPostgres } from "../../examples/workers/start-postgres.ts";

let postgres: Postgres;
let worker: Worker;
let client: Client;
let makeResult: () => Json = () => "";

const read = defineTool({
  name: "read",
  description: "Reads a file",
  inputSchema: { type: "object" },
  replay: "safe",
  execute: () => makeResult(),
});

const loop = defineDurableLoop({
  name: "reading",
  options: ({ calls, context = 10 }: { readonly calls: number; readonly context?: number }) => ({
    provider: createMockProvider(({ iteration }) => (iteration < calls ? toolCall("read", {}) : text("Done."))),
    tools: [read],
    limits: { maxIterations: calls + 1 },
    messages: [{ role: "user" as const, content: "x".repeat(context) }],
  }),
});

beforeAll(async () => {
  postgres = await startPostgres();
  worker = await launchWorker({ databaseUrl: postgres.url });
  client = new Client({ connectionString: postgres.url });
  await client.connect();
}, 60_000);

afterAll(async () => {
  await client.end();
  await worker.stop();
  await postgres.stop();
});

/** Counts the bytes of the records, the events and the large texts of a run, without its input. */
async function storedBy(runId: string): Promise<number> {
  const { rows } = await client.query<{ readonly bytes: string }>(
    `SELECT (SELECT sum(octet_length(body)) FROM turnwright.records WHERE run_id = $1)
          + (SELECT sum(octet_length(body)) FROM turnwright.events WHERE run_id = $1)
          + (SELECT coalesce(sum(octet_length(body) + 64), 0) FROM turnwright.blobs WHERE run_id = $1) AS bytes`,
    [runId],
  );
  return Number(rows[0]?.bytes);
}

describe("a durable run's storage", () => {
  it("grows linearly, with one copy of each result", async () => {
    makeResult = () => randomBytes(2_500).toString("hex");
    const sizes = new Map<number, number>();
    for (const calls of [25, 50, 100]) {
      await loop.start(`calls-${calls}`, { calls, context: 800_000 });
      expect((await loop.result(`calls-${calls}`)).status).toBe("completed");
      sizes.set(calls, await storedBy(`calls-${calls}`));
    }
    const [small = 0, middle = 0, large = 0] = sizes.values();
    expect(large).toBeLessThan(1_000_000);
    expect(large).toBeGreaterThan(500_000);
    expect((large - middle) / (middle - small)).toBeCloseTo(2, 1);
  }, 60_000);

  it("contains a result of 600 umlauts once, outside the events", async () => {
    makeResult = () => "ü".repeat(600);
    await loop.start("umlauts", { calls: 1 });
    await loop.result("umlauts");
    const { rows } = await client.query(
      `SELECT (SELECT count(*)::int FROM turnwright.events WHERE run_id = $1 AND body LIKE '%üü%') AS events,
              (SELECT count(*)::int FROM turnwright.blobs WHERE run_id = $1 AND body LIKE '%üü%') AS blobs`,
      ["umlauts"],
    );
    expect(rows).toEqual([{ events: 0, blobs: 1 }]);
  });

  it("returns an unchanged tool result in a restarted worker's messages and events", async () => {
    const result: Json = {
      blobs: { result: "a".repeat(64) },
      blob: "b".repeat(64),
      text: "ü\u{1F600}".repeat(2_000),
      ["__proto__"]: 1,
    };
    makeResult = () => result;
    await loop.start("same", { calls: 2 });
    await loop.result("same");
    await worker.stop();
    worker = await launchWorker({ databaseUrl: postgres.url });
    const { messages } = await loop.result("same");
    expect(JSON.stringify(messages[2]).includes(JSON.stringify(result))).toBe(true);
    const results: unknown[] = [];
    for await (const { event } of loop.events("same")) if (event.type === "tool-end") results.push(event.result);
    expect(results.map((one) => JSON.stringify(one) === JSON.stringify(result))).toEqual([true, true]);
  });
});
