import { Client } from "pg";
import { z } from "zod";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { defineTool } from "turnwright";
import { defineDurableHost, defineDurableLoop, launchWorker, type Worker } from "turnwright/dbos";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { type Postgres, startPostgres } from "../../examples/workers/start-postgres.ts";

let postgres: Postgres;
let worker: Worker;
let session: Client;
const answerMs = 1_500;
const booked: string[] = [];

const inputSchema = { type: "object" } as const;
const book = defineTool({
  name: "book",
  description: "Books a room",
  inputSchema,
  needsApproval: true,
  execute: (_args, { callId }) => {
    booked.push(callId);
    return "Booked.";
  },
});
const sign = defineTool({ name: "sign", description: "A person signs", inputSchema, outputSchema: z.string() });
const write = defineTool({ name: "write", description: "Writes", inputSchema, execute: () => "x".repeat(5_000) });

const host = defineDurableHost({
  name: "desk",
  options: ({ input }) => ({
    provider: createMockProvider(({ messages }) => {
      const isAnswered = messages.at(-1)?.role !== "user";
      return isAnswered || typeof input !== "string" ? text("Done.") : [toolCall(input), toolCall(input)];
    }),
    tools: [book, sign, write],
  }),
});

const permission = z.object({ kind: z.enum(["once", "always"]), until: z.number().min(1) });
const asking = defineDurableHost({
  name: "asking",
  options: ({ input: where }) => ({
    provider: createMockProvider(({ messages }) => (messages.length === 1 ? [toolCall("write")] : text("Done."))),
    tools: [write],
    middleware: [
      {
        name: "asking",
        call: async (call, next, at) => {
          if (where === "call") await at.wait("permission", { risk: "high" }, { schema: permission });
          if (where === "timed") await at.wait("permission", {}, { schema: permission, until: 4e12 });
          return next(call);
        },
        request: async (request, next, at) => {
          if (where === "request" && at.state.iteration === 1) await at.wait("permission", {}, { schema: permission });
          return next(request);
        },
      },
    ],
  }),
});

beforeAll(async () => {
  postgres = await startPostgres();
  worker = await launchWorker({ databaseUrl: postgres.url, answerMs });
  session = new Client({ connectionString: postgres.url });
  await session.connect();
}, 60_000);

afterAll(async () => {
  await session.end();
  await worker.stop();
  await postgres.stop();
});

it("a durable host's error messages name the method that ends waiting calls, and each unknown option", async () => {
  const [call] = await start("advice", "book");
  const refused = await host.start("advice", { message: "Hello." });
  expect(refused).toMatchObject({ kind: "waiting", error: { message: expect.stringContaining('end the calls with "stop"') } });
  const answers = { other: { kind: "approve" as const } };
  await expect(host.resume("advice", { answers })).rejects.toThrow(`Use the id of a waiting call: "${call}", `);
  await expect(host.resume("advice", { answers: {}, tools: [] } as never)).rejects.toThrow('There is no option "tools".');
  await expect(host.resume("advice", {} as never)).rejects.toThrow(
    /Option "answers" is .*, but must be an object with an answer/,
  );
  await host.stop("advice");
});

it("defineDurableHost and defineDurableLoop name the options in errors as the caller wrote them", () => {
  expect(() => defineDurableHost({ name: "a", tools: [] } as never)).toThrow(
    'There is no option "tools". Write: options: () => ({ tools }), because "options" returns those of each run',
  );
  expect(() => defineDurableLoop({ name: "a", options: {} } as never)).toThrow(/Option "options" is .*, but must be a function/);
});

/** Starts a conversation, and waits until its run has ended or waits. Returns the ids of the waiting calls. */
async function start(id: string, input: string | null, on = host): Promise<readonly string[]> {
  const answer = await on.start(id, { message: "Go.", input });
  if (answer.kind !== "started") throw new Error("The run did not start.");
  for await (const { event } of answer.join()) if (event.type === "run-end" && event.path === undefined) break;
  return ((await on.status(id))?.pendingCalls ?? []).map((call) => call.id);
}

async function sentTo(id: string): Promise<number> {
  return (await session.query("SELECT 1 FROM turnwright.messages WHERE run_id = $1", [`${id}/1`])).rowCount ?? 0;
}

describe("host.resume() with several decisions", () => {
  it("delivers none of them if one names an unknown call", async () => {
    const [first = "", second = ""] = await start("unknown", "book");
    const approve = { kind: "approve" } as const;
    const answers = { [first]: approve, [second]: approve, nobody: approve };
    await expect(host.resume("unknown", { answers })).rejects.toMatchObject({ code: "unknown-decision" });
    expect(await sentTo("unknown")).toBe(0);
    const answer = await host.resume("unknown", { answers: { [first]: { kind: "deny" }, [second]: approve } });
    expect(answer.kind === "started" && (await answer.result()).status).toBe("completed");
    expect(booked).toEqual([second]);
  });

  it("delivers none of them if one does not fit its call, so all can be sent again", async () => {
    const [first = "", second = ""] = await start("unfit", "sign");
    const resume = (results: readonly unknown[]) => {
      const answers = Object.fromEntries(
        [first, second].map((id, index) => [id, { kind: "result", result: results[index] } as const]),
      );
      return host.resume("unfit", { answers: answers as never });
    };
    await expect(resume(["One.", 7])).rejects.toMatchObject({ code: "invalid-decision" });
    expect(await sentTo("unfit")).toBe(0);
    const answer = await resume(["One, corrected.", "Two."]);
    const messages = answer.kind === "started" ? (await answer.result()).messages : [];
    expect(JSON.stringify(messages)).toContain("One, corrected.");
  });
});

describe("a durable run that is being deleted", () => {
  const unknown = { code: "invalid-option", details: { received: "an unknown id" } };
  const readAll = async (id: string): Promise<void> => {
    for await (const _ of (await host.join(id, { endsWhenWaiting: false })) ?? []) continue;
  };

  it("ends its readers' streams with an error", async () => {
    await start("deleted", null);
    // `deleteRuns` deletes the workflow last.
    for (const table of ["events", "records", "runs"])
      await session.query(`DELETE FROM turnwright.${table} WHERE ${table === "runs" ? "id" : "run_id"} = 'deleted/1'`);
    await expect(readAll("deleted")).rejects.toMatchObject(unknown);
  });

  it("ends a reader's stream with an error even if only one large string has been deleted so far", async () => {
    await start("half", "write");
    await session.query("DELETE FROM turnwright.blobs WHERE run_id = 'half/1'");
    await expect(readAll("half")).rejects.toMatchObject(unknown);
  });
});

describe("a durable host whose database does not answer", () => {
  const calls = {
    status: () => host.status("slow"),
    start: () => host.start("slow", { message: "Again." }),
    stop: () => host.stop("slow"),
    kill: () => host.kill("slow"),
    join: () => host.join("slow"),
    resume: () => host.resume("slow", { answers: {} }),
    retry: () => host.retry("slow"),
  };

  it("rejects each call after answerMs, and works again later", async () => {
    await start("slow", null);
    await session.query("BEGIN; LOCK TABLE dbos.workflow_status");
    const ends = await Promise.allSettled(Object.values(calls).map((call) => call()));
    await session.query("ROLLBACK");
    const errors = ends.map((end) => (end.status === "rejected" ? String(end.reason) : "answered"));
    expect(errors).toEqual(
      Object.keys(calls).map((what) => expect.stringContaining(`The call to "${what}" received no answer within ${answerMs} ms`)),
    );
    await expect.poll(async () => (await host.status("slow"))?.status, { timeout: 20_000 }).toBe("completed");
  }, 60_000);
});

describe("a worker whose writes are waiting for a database lock", () => {
  it("still reports the status of runs and sends heartbeats", async () => {
    await session.query("BEGIN; LOCK TABLE turnwright.events IN SHARE MODE");
    const ids = Array.from({ length: 16 }, (_, index) => `locked-${index}`);
    for (const id of ids) await host.start(id, { message: "Go.", input: null });
    const waiting = "SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'turnwright.events'::regclass";
    // All connections for writes wait.
    await expect.poll(async () => (await session.query(waiting)).rowCount, { timeout: 20_000 }).toBe(6);
    expect((await host.status("locked-0"))?.status).toBe("running");
    const { rows } = await session.query<{ now: string }>("SELECT clock_timestamp()::text AS now");
    const isLater = "SELECT beat > $1 AS later FROM turnwright.workers WHERE id = $2";
    const beats = async () => (await session.query<{ later: boolean }>(isLater, [rows[0]?.now, worker.id])).rows[0]?.later;
    await expect.poll(beats, { timeout: 5_000 }).toBe(true);
    await session.query("ROLLBACK");
    const ended = async () => (await worker.listRuns({ state: "live" })).length;
    await expect.poll(ended, { timeout: 20_000 }).toBe(0);
  }, 60_000);
});

describe.each([
  ["call", "call_i0_0", { kind: "once", until: 5 }],
  ["request", "i1/request", { kind: "once", until: 5 }],
  // A wait with a time limit may get the answer that the end of its time gives.
  ["timed", "call_i0_0", null],
])("a middleware wait in %s", (where, call, answer) => {
  it("accepts an answer that matches its schema, and refuses others as runToolLoop does", async () => {
    const id = `wait-${where}`;
    await start(id, where, asking);
    const resume = (answers: object): Promise<unknown> => asking.resume(id, { answers: answers as never });
    const unknown = { code: "unknown-decision", details: { call: "nobody", waiting: [call] } };
    await expect(resume({ nobody: answer, [call]: answer })).rejects.toMatchObject(unknown);
    const unfit = { code: "invalid-decision", details: { call, waitsFor: "answer", issues: [{ path: ["until"] }] } };
    await expect(resume({ [call]: { kind: "once", until: "now" } })).rejects.toMatchObject(unfit);
    const sent = { kind: "result", result: answer, fromPage: true };
    const forged = { code: "invalid-decision", details: { call, problem: "comes from a page" } };
    await expect(resume({ [call]: sent })).rejects.toMatchObject(forged);
    await resume({ [call]: answer });
    const run = await asking.join(id, { endsWhenWaiting: false });
    for await (const { event } of run ?? []) if (event.type === "run-end") expect(event.status).toBe("completed");
    expect((await asking.status(id))?.status).toBe("completed");
  });
});
