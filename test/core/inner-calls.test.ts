// Calls that a durable tool or a middleware makes: an ending that they cause ends the run.

import { describe, expect, it } from "vitest";
import {
  createLoopControl,
  defineAgentTool,
  type EndReason,
  FatalToolError,
  type LoopResult,
  memoryJournal,
  type Middleware,
  runToolLoop,
  type Tool,
  type ToolContext,
} from "turnwright";
import { createMockProvider, text, toolCall } from "turnwright/testing";

const messages = [{ role: "user", content: "Go." }] as const;
const inputSchema = { type: "object" } as const;

type Execute = (args: unknown, context: ToolContext) => unknown;

function tool(name: string, execute: Execute, traits: object = {}): Tool {
  return { name, description: name, inputSchema, execute, ...traits };
}

function durable(name: string, execute: Execute): Tool {
  return tool(name, execute, { durable: true });
}

const enough: EndReason = { kind: "stop-condition", reason: "enough" };

/** Refuses the calls of `pay`, and ends the run. */
const ending: Middleware = {
  name: "ending",
  call: async (call, next) =>
    call.name === "pay"
      ? { call, durationMs: 0, kind: "denied", reason: "No.", ends: { status: "completed", reason: enough } }
      : next(call),
};

function setUp(middleware: readonly Middleware[] = []) {
  const ran: string[] = [];
  const note = (name: string): Tool => tool(name, () => ran.push(name));
  const tools = [
    note("pay"),
    note("mail"),
    tool("break", () => {
      throw new FatalToolError("The disk is full.");
    }),
    durable("pays", async (_, { call }) => call("pay", {}).catch(() => "It was denied, so I go on.")),
    durable("breaks", async (_, { call }) => call("break", {}).catch(() => "It failed, so I go on.")),
    durable("manages", (_, { call }) => call("pays", {})),
    durable("tries", async (_, { call }) => {
      await call("pay", {}).catch(() => "denied");
      return call("mail", {}).catch(() => "not sent");
    }),
  ];
  const run = (name: string, journal = memoryJournal()): Promise<LoopResult> => {
    const provider = createMockProvider(({ messages: said }) => (said.length === 1 ? [toolCall(name)] : text("Done.")));
    return runToolLoop({ provider, tools, messages, middleware, journal, runId: "r" });
  };
  return { run, ran };
}

const around: Middleware = {
  name: "around",
  async call(call, next, at) {
    if (call.name === "mail") await at.call("break", {}).catch(() => undefined);
    return next(call);
  },
};

const broken = { kind: "fatal-tool-error", toolName: "break", error: { message: "The disk is full." } };

describe("an inner call that ends the run", () => {
  it.for<[what: string, name: string, middleware: readonly Middleware[], reason: object]>([
    ["middleware refuses it", "pays", [ending], enough],
    ["its tool fails fatally", "breaks", [], broken],
    ["it is made by an inner call", "manages", [ending], enough],
    ["middleware made it", "mail", [around], broken],
  ])("does so even if the calling tool catches the error: %s", async ([, name, middleware, reason]) => {
    const { run } = setUp(middleware);
    const journal = memoryJournal();
    const result = await run(name, journal);
    expect(result.reason).toMatchObject(reason);
    const saved = journal.toJSON();
    const keys = Object.keys(saved.steps);
    for (let count = 0; count <= keys.length; count += 1) {
      const steps = Object.fromEntries(keys.slice(0, count).map((key) => [key, saved.steps[key] ?? null]));
      const again = await run(name, memoryJournal({ steps }));
      expect([count, again.reason, again.messages]).toEqual([count, result.reason, result.messages]);
    }
  });

  it("prevents later inner calls to the same tool from running", async () => {
    const { run, ran } = setUp([ending]);
    const { reason, calls } = await run("tries");
    expect([reason, ran, calls.map(({ result }) => result)]).toEqual([enough, [], ["not sent"]]);
  });
});

describe("an inner call whose tool runs an agent", () => {
  function setUpAgent(end: "drain" | "stop") {
    const control = createLoopControl();
    const agent = defineAgentTool({
      name: "agent",
      description: "Works",
      inputSchema,
      prepare: () => ({ provider: createMockProvider([text("Inside.")]), messages, control }),
    });
    const asks = durable("asks", (_, { call }) => call("agent", {}));
    control.steer("Hurry.");
    control[end]();
    const provider = createMockProvider(({ messages: said }) => (said.length === 1 ? [toolCall("asks")] : text("Done.")));
    return (journal = memoryJournal()) => runToolLoop({ provider, tools: [agent, asks], messages, journal, runId: "r" });
  }

  it("suspends the run if the agent's run is drained, and continues later", async () => {
    const run = setUpAgent("drain");
    const { status, reason, journal } = await run();
    expect([status, reason]).toEqual(["suspended", { kind: "drained" }]);
    const { text: said, calls } = await run(journal as ReturnType<typeof memoryJournal>);
    expect([said, calls.map(({ outcome }) => outcome)]).toEqual(["Done.", ["completed"]]);
  });

  it("returns the agent's undelivered messages to the caller, even in a replay", async () => {
    const run = setUpAgent("stop");
    const undelivered = [{ role: "user", content: "Hurry." }];
    const journal = memoryJournal();
    expect((await run(journal)).undelivered).toEqual(undelivered);
    expect((await run(journal)).undelivered).toEqual(undelivered);
  });
});
