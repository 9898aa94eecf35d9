import { afterEach, describe, expect, it } from "vitest";
import { ask, defineAgentTool, defineTool, type LoopOptions, runNested } from "turnwright";
import { inspectJournal } from "turnwright/journal";
import { createMockProvider, createTestClock, text, toolCall } from "turnwright/testing";
import { createEngine, runId, settle } from "./durable-engine.ts";
import type { LiveRun } from "../../src/host/durable/durable-store.ts";

const inputSchema = { type: "object" } as const;
const ext = defineTool({ name: "ext", description: "A person works", inputSchema });
const gated = defineTool({ name: "gated", description: "Needs approval", inputSchema, needsApproval: true, execute: () => "ok" });
const asking = defineTool({
  name: "ask",
  description: "Asks",
  durable: true,
  inputSchema,
  execute: (_args, context) => ask(context, { question: "Which?" }),
});

function agentWith(name: string, call: string): ReturnType<typeof defineAgentTool> {
  const provider = createMockProvider(({ iteration }) => [iteration === 0 ? toolCall(call) : text("Report.")]);
  const prepare = () => ({ messages: [{ role: "user" as const, content: "Go." }], tools: [ext, gated], provider });
  return defineAgentTool({ name, description: name, inputSchema, prepare });
}

const team = defineTool({
  name: "team",
  description: "Two nested runs",
  inputSchema,
  durable: true,
  execute: (_args, context) =>
    Promise.all(
      ["north", "south"].map(async (name) => {
        const provider = createMockProvider(({ iteration }) => [iteration === 0 ? toolCall("gated") : text(name)]);
        return (await runNested(context, { messages: [{ role: "user", content: "Go." }], tools: [gated], provider }, name)).text;
      }),
    ),
});

const tools = [team, ext, gated, asking, agentWith("sub", "gated"), agentWith("subx", "ext")];

function optionsOf(calls: readonly string[]): Partial<LoopOptions> {
  return {
    tools,
    provider: createMockProvider(({ iteration }) => (iteration === 0 ? calls.map((name) => toolCall(name)) : [text("Done.")])),
  };
}

let live = new Map<string, LiveRun>();
afterEach(() => {
  live = new Map();
});

const waiting = [["ext"], ["ask"], ["gated"], ["gated", "ext"], ["sub"], ["subx"], ["team"]];
const cases = (["stop", "kill"] as const).flatMap((verb) =>
  waiting.map((calls) => ({ verb, calls, title: calls.join(" and ") })),
);

describe("a waiting durable run that another worker took over", () => {
  it.each(cases)("records its end after $verb while $title waits", async ({ verb, calls }) => {
    const engine = createEngine();
    const options = optionsOf(calls);
    const first = engine.createProcess(live)(options);
    await settle();
    live.get(runId)?.abandon();
    expect(await first).toBeUndefined();
    const second = engine.createProcess(live)(options);
    await settle();
    expect((await inspectJournal(engine.readJournal())).status).toBe("suspended");
    engine.send({ verb });
    await live.get(runId)?.obey();
    const { status } = JSON.parse((await second) ?? "{}") as { status: string };
    const found = await inspectJournal(engine.readJournal());
    expect([status, found.status, found.pendingCalls]).toEqual(["stopped-by-user", "stopped-by-user", []]);
    const results = found.messages.flatMap((message) => (message.role === "tool" ? message.results : []));
    expect(results.map(({ name }) => name)).toEqual(calls);
    expect(results.map(({ outcome }) => outcome)).not.toContain("awaiting-approval");
  });
});

it("a durable run shows the calls that wait in its parallel nested runs", async () => {
  const engine = createEngine();
  const running = engine.createProcess(live)(optionsOf(["team"]));
  await settle();
  const { pendingCalls } = await inspectJournal(engine.readJournal());
  const ids = pendingCalls.filter(({ state }) => state === "awaiting-approval").map(({ id }) => id);
  expect(ids).toEqual(["call_i0_0/north/call_i0_0", "call_i0_0/south/call_i0_0"]);
  engine.send({ verb: "answer", id: ids[0] ?? "", answer: { kind: "approve" } });
  engine.send({ verb: "answer", id: ids[1] ?? "", answer: { kind: "deny" } });
  expect(JSON.parse((await running) ?? "{}")).toMatchObject({ status: "completed", text: "Done." });
});

describe("a durable run whose store takes a long time for each write", () => {
  it.each(["stop", "kill"] as const)("ends as stopped after a %s, and does not fail", async (verb) => {
    const engine = createEngine();
    const clock = createTestClock();
    const running = engine.createProcess(live)({ ...optionsOf(["gated"]), clock });
    await settle();
    let release: () => void = () => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    const append = engine.store.append.bind(engine.store);
    engine.store.append = async (...given) => {
      await held;
      return append(...given);
    };
    engine.send({ verb });
    await live.get(runId)?.obey();
    await clock.advance(60_000);
    release();
    expect(JSON.parse((await running) ?? "{}")).toMatchObject({ status: "stopped-by-user" });
    expect((await inspectJournal(engine.readJournal())).status).toBe("stopped-by-user");
  });
});
