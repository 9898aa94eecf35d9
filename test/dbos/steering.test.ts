import { describe, expect, it } from "vitest";
import { defineAgentTool, defineTool, type LoopOptions } from "turnwright";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import type { DurableResult } from "../../src/host/durable/durable-loop.ts";
import type { LiveRun } from "../../src/host/durable/durable-store.ts";
import { executeDurableRun } from "../../src/host/durable/execute-durable-run.ts";
import { factsOf } from "../host/durable-engine.ts";
import { own } from "./own-run.ts";
import { useStore } from "./use-database.ts";

const database = useStore();
const live = new Map<string, LiveRun>();

type Own = Pick<LoopOptions, "provider" | "tools" | "messages">;

async function execute(runId: string, options: Own): Promise<string | undefined> {
  await own(database.pool, runId, "tester");
  const waitFor = (): Promise<never> => new Promise(() => {});
  return factsOf(
    await executeDurableRun({ store: database.store, live, waitFor }, { runId, fields: { options: () => options } }),
  );
}

/** A tool whose calls wait until `release` is called. */
function createGate(): {
  readonly begun: (count: number) => Promise<void>;
  release: () => void;
  readonly nap: ReturnType<typeof defineTool>;
} {
  let calls = 0;
  let release: () => void = () => {};
  let open = new Promise<void>((resolve) => (release = resolve));
  const nap = defineTool({
    name: "nap",
    description: "Waits",
    inputSchema: { type: "object" },
    replay: "safe",
    execute: async () => {
      calls += 1;
      await open;
      return "ok";
    },
  });
  return {
    nap,
    async begun(count) {
      await expect.poll(() => calls, { timeout: 20_000, interval: 10 }).toBe(count);
    },
    release: () => {
      release();
      open = new Promise((resolve) => (release = resolve));
    },
  };
}

interface Shape {
  /** How many nested runs are in progress at the same time. */
  readonly agents: number;
  /** How many calls each nested run makes one after the other. */
  readonly naps: number;
  /** In how many iterations the model asks for nested runs. */
  readonly rounds?: number;
}

function optionsOf(gate: ReturnType<typeof createGate>, { agents, naps, rounds = 1 }: Shape): Own {
  const nested = createMockProvider(({ iteration }) => (iteration < naps ? [toolCall("nap", {})] : [text("Report.")]));
  const prepare = () => ({ messages: [{ role: "user" as const, content: "Look." }], tools: [gate.nap], provider: nested });
  const research = defineAgentTool({ name: "research", description: "Looks", inputSchema: { type: "object" }, prepare });
  const calls = Array.from({ length: agents }, () => toolCall("research", {}));
  return {
    provider: createMockProvider(({ iteration }) => (iteration < rounds ? calls : [text("End.")])),
    tools: [research],
    messages: [{ role: "user", content: "Go." }],
  };
}

const steer = (content: string) => ({ verb: "steer" as const, message: { role: "user" as const, content } });

/** How often the model of the outermost run read a message. */
async function countSteered(runId: string): Promise<number> {
  const rows = await database.store.readEvents(runId, 0);
  return rows.filter(({ body }) => body.includes('"steered"')).length;
}

describe("a steering message to a durable run", () => {
  it("is delivered once even if several nested runs are active", async () => {
    const gate = createGate();
    const running = execute("parallel", optionsOf(gate, { agents: 4, naps: 2 }));
    await gate.begun(4);
    await database.store.send("parallel", steer("Once."));
    gate.release();
    await gate.begun(8);
    gate.release();
    const { status, undelivered } = JSON.parse((await running) ?? "{}") as DurableResult;
    expect([status, undelivered, await countSteered("parallel")]).toEqual(["completed", [], 1]);
  }, 60_000);

  it("is delivered if the worker dies while a nested run is active", async () => {
    const gate = createGate();
    const options = optionsOf(gate, { agents: 1, naps: 2 });
    const first = execute("dies", options);
    await gate.begun(1);
    await database.store.send("dies", steer("Only half of it."));
    gate.release();
    // The nested run has read its inbox by now.
    await gate.begun(2);
    live.get("dies")?.abandon();
    expect(await first).toBeUndefined();
    const second = execute("dies", options);
    await gate.begun(3);
    gate.release();
    const { status, undelivered } = JSON.parse((await second) ?? "{}") as DurableResult;
    expect([status, undelivered, await countSteered("dies")]).toEqual(["completed", [], 1]);
  }, 60_000);

  it("is not delivered again if the worker dies after it was delivered", async () => {
    const gate = createGate();
    const options = optionsOf(gate, { agents: 1, naps: 1, rounds: 2 });
    const first = execute("delivered", options);
    await gate.begun(1);
    await database.store.send("delivered", steer("Only half of it."));
    gate.release();
    // The second iteration has read the message by now.
    await gate.begun(2);
    live.get("delivered")?.abandon();
    expect(await first).toBeUndefined();
    const second = execute("delivered", options);
    await gate.begun(3);
    gate.release();
    const { status, undelivered } = JSON.parse((await second) ?? "{}") as DurableResult;
    expect([status, undelivered, await countSteered("delivered")]).toEqual(["completed", [], 1]);
  }, 60_000);
});
