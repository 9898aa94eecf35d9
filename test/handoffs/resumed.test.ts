import { describe, expect, it } from "vitest";
import { memoryJournal, runToolLoop, type SavedJournal } from "turnwright";
import type { MemoryJournal } from "turnwright/kit";
import { createConversation, memoryConversationStore } from "turnwright/conversation";
import { parseRunLog, rerunFrom, runLog } from "turnwright/inspect";
import { inspectJournal } from "turnwright/journal";
import { createHandoffs } from "turnwright/middleware";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { createAgents, facts, messages, shared, toBilling, tool, toTriage } from "./stage.ts";
import { addWatchers } from "../add-watchers.ts";

function save(journal: MemoryJournal): SavedJournal {
  return JSON.parse(JSON.stringify(journal)) as SavedJournal;
}

describe("a resumed run with createHandoffs", () => {
  const script = [toolCall("search", {}), toBilling, toolCall("find_invoice", {}), toTriage, text("Done.")];

  it("continues as the same agent after a crash at any step, and does not repeat any recorded requests", async () => {
    const agents = createAgents();
    const options = { messages, tools: agents.tools, middleware: [agents], runId: "r1" };
    const journal = memoryJournal();
    const whole = await runToolLoop({ ...options, provider: createMockProvider(script), journal });
    const saved = save(journal);
    const keys = Object.keys(saved.steps);
    for (let kept = 1; kept < keys.length; kept += 1) {
      const steps = Object.fromEntries(keys.slice(0, kept).map((key) => [key, saved.steps[key]]));
      const done = keys.slice(0, kept).filter((key) => key.endsWith("/model")).length;
      const provider = createMockProvider(script.slice(done));
      const result = await runToolLoop({ ...options, provider, journal: memoryJournal({ ...saved, steps } as SavedJournal) });
      expect({ messages: result.messages, handoffs: result.handoffs, calls: provider.calls }).toEqual({
        messages: whole.messages,
        handoffs: whole.handoffs,
        calls: script.length - done,
      });
      expect(provider.requests.map(({ system }) => system)).toEqual(
        ["You are triage.", "You are triage.", "You are billing.", "You are billing.", "You are triage."].slice(done),
      );
    }
  });

  it("begins as the journal's agent, even if startWith() names another agent", async () => {
    const agents = createAgents();
    const journal = memoryJournal();
    const options = { messages, tools: agents.tools, runId: "r3" };
    await runToolLoop({ ...options, provider: createMockProvider([text("Hi.")]), middleware: [agents], journal });
    const { steps, ...rest } = save(journal);
    const kept = Object.fromEntries(
      Object.entries(steps).filter(([key]) => ["run", "begin", "i0/request/@handoffs/agent"].includes(key)),
    );
    const provider = createMockProvider([text("Hi.")]);
    const middleware = [agents.startWith("billing")];
    await runToolLoop({ ...options, provider, middleware, journal: memoryJournal({ ...rest, steps: kept }) });
    expect(provider.requests.map(({ system }) => system)).toEqual(["You are triage."]);
  });

  it("has a journal that inspectJournal can read without the run's options", async () => {
    const agents = createAgents();
    const journal = memoryJournal();
    const result = await runToolLoop({
      provider: createMockProvider(script),
      messages,
      tools: agents.tools,
      middleware: [agents],
      journal,
    });
    const inspected = await inspectJournal(journal);
    expect(inspected).toMatchObject({ status: "completed", messages: result.messages });
  });

  it(`ends with the reason "hook-failed" if the journal's agent is missing`, async () => {
    const agents = createAgents();
    const journal = memoryJournal();
    const options = { messages, runId: "r2", tools: agents.tools };
    await runToolLoop({
      ...options,
      provider: createMockProvider([toBilling, text("Done.")]),
      middleware: [agents],
      journal,
    });
    const { steps, ...rest } = save(journal);
    const kept = Object.fromEntries(Object.entries(steps).filter(([key]) => !key.startsWith("i1/")));
    const other = createHandoffs({ start: "triage", agents: { triage: { description: "" } } });
    const result = await runToolLoop({
      ...options,
      provider: createMockProvider([]),
      middleware: [other],
      journal: memoryJournal({ ...rest, steps: kept }),
    });
    expect(result.reason).toMatchObject({
      kind: "hook-failed",
      hook: "handoffs.request",
      error: { message: expect.stringContaining('"billing"') as string },
    });
  });
});

describe("createHandoffs()", () => {
  const agent = { description: "" };
  it.for<[title: string, options: unknown, code: string, message: RegExp]>([
    ["no agents", { agents: {}, start: "a" }, "invalid-option", /at least one agent/],
    ["an unknown first agent", { agents: { a: agent }, start: "b" }, "invalid-option", /start/],
    ["an agent without a description", { agents: { a: {} }, start: "a" }, "invalid-option", /agents\.a\.description/],
    [
      "a handoff to an unknown agent",
      { agents: { a: { ...agent, handoffs: ["b"] } }, start: "a" },
      "invalid-option",
      /agents\.a\.handoffs/,
    ],
    [
      "a handoff to itself",
      { agents: { a: { ...agent, handoffs: ["a"] } }, start: "a" },
      "invalid-option",
      /agents\.a\.handoffs/,
    ],
    ["an invalid name", { agents: { "a b": agent }, start: "a b" }, "invalid-option", /letters/],
    [
      "two tools with the same name",
      { agents: { a: { ...agent, tools: [tool("x")] }, b: { ...agent, tools: [tool("x")] } }, start: "a" },
      "duplicate-tool",
      /x/,
    ],
    ["an unknown field", { agents: { a: { ...agent, instructions: "" } }, start: "a" }, "unknown-option", /instructions/],
  ])("throws a LoopError for %s", ([, options, code, message]) => {
    expect(() => createHandoffs(options as never)).toThrow(
      expect.objectContaining({ code, message: expect.stringMatching(message) as string }),
    );
  });

  it("adds the handoff tools to the run", async () => {
    const provider = createMockProvider([text("Hi")]);
    await runToolLoop({ provider, messages, tools: [shared], middleware: [createAgents()] });
    expect(provider.requests[0]?.tools.map(({ name }) => name)).toContain("transfer_to_billing");
  });
});

it.for(["log", "journal"] as const)("rerunFrom continues as the recorded iteration's agent, from a %s", async (kind) => {
  const agents = createAgents();
  const options = { tools: agents.tools, middleware: [agents] };
  const lines: string[] = [];
  const first = { ...options, messages, provider: createMockProvider([toBilling, toolCall("find_invoice", {}), text("Done.")]) };
  const { journal } = await runToolLoop(addWatchers(first, runLog({ to: { write: (line) => void lines.push(line) } })));
  const source = kind === "log" ? parseRunLog(lines.join("")) : journal;
  const provider = createMockProvider([text("Again.")]);
  const result = await runToolLoop(await rerunFrom(source, { iteration: 2 }, { ...options, provider }));
  expect(facts(provider)).toEqual([["You are billing.", ["find_invoice", "transfer_to_triage"]]]);
  expect(result.agent).toBe("billing");
});

it("createConversation begins the next run with the last run's agent, even after a reload from the store", async () => {
  const store = memoryConversationStore();
  const agents = createAgents();
  const options = { tools: agents.tools, middleware: [agents] };
  const send = async (script: Parameters<typeof createMockProvider>[0]): Promise<unknown> => {
    const provider = createMockProvider(script);
    const conversation = createConversation({ id: "c1", store, options: { ...options, provider } });
    await conversation.send("My invoice is wrong.");
    return facts(provider);
  };
  await send([toBilling, text("Done.")]);
  expect(await send([text("Again.")])).toEqual([["You are billing.", ["find_invoice", "transfer_to_triage"]]]);
});
