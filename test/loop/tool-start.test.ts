import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  approve,
  ask,
  contextRestart,
  contextRestarts,
  createToolRegistry,
  defer,
  defineAgentTool,
  FatalToolError,
  gateTools,
  type LoopEvent,
  type LoopOptions,
  memoryJournal,
  runToolLoop,
} from "turnwright";
import { createMockProvider, type MockMessage, recordEvents, text, toolCall } from "turnwright/testing";
import { createAGUIMapper } from "turnwright/ag-ui";
import { createUIMessageMapper } from "turnwright/ui-message-stream";
import { tracing, diagnostics, toolChannel, type ToolMessage } from "turnwright/observe";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { setUpTracing } from "../tracing/stage.ts";
import { play, tool } from "./play.ts";
import { addWatchers } from "../add-watchers.ts";

const needsNumber = z.object({ n: z.number() });
const work = tool("work", () => "done");
const strict = tool("strict", () => "done", { inputSchema: needsNumber });
const broken = tool("broken", () => {
  throw new FatalToolError("over");
});
const agent = defineAgentTool({
  name: "agent",
  description: "",
  inputSchema: needsNumber,
  prepare: () => ({ provider: createMockProvider([text("Yes.")]), messages: [{ role: "user", content: "Q" }] }),
});

/** A registry whose tool `change` changes the tool `work` while the batch runs. */
function changing(change: "remove" | "replace"): Partial<LoopOptions> {
  const registry = createToolRegistry();
  registry.register(
    tool("change", () => {
      registry.unregister("work");
      if (change === "replace") registry.register(tool("work", () => "other", { description: "another tool" }));
    }),
  );
  registry.register(work);
  return { tools: registry, limits: { toolConcurrency: 1 }, allowToolChange: () => true };
}

type Row = [reason: string, calls: MockMessage, outcomes: readonly string[], more?: Partial<LoopOptions>];

const refusals: readonly Row[] = [
  ["its tool is unknown", toolCall("wrok"), ["unknown-tool"]],
  ["its arguments are not JSON", toolCall("work", {}, { rawArgs: "{" }), ["malformed"]],
  ["its arguments do not match the schema", toolCall("strict", { n: "x" }), ["invalid-input"]],
  ["the gate blocks it", toolCall("work"), ["blocked"], { middleware: [gateTools({ active: true, allowedNames: [] })] }],
  ["toolChoice blocks it", toolCall("work"), ["blocked"], { toolChoice: "none" }],
  ["it is denied", toolCall("work"), ["denied"], { middleware: [approve(() => ({ kind: "deny" }))] }],
  [
    "there is no decision",
    toolCall("work"),
    ["approval-failed"],
    { middleware: [approve(() => Promise.reject(new Error("no")))] },
  ],
  ["it exceeds maxToolCalls", [toolCall("work"), toolCall("work")], ["completed", "limit"], { limits: { maxToolCalls: 1 } }],
  [
    "an earlier call ended the run",
    [toolCall("broken"), toolCall("work")],
    ["failed", "not-run"],
    { limits: { toolConcurrency: 1 } },
  ],
  ["its tool was removed", [toolCall("change"), toolCall("work")], ["completed", "unknown-tool"], changing("remove")],
  ["its tool was replaced", [toolCall("change"), toolCall("work")], ["completed", "invalid-input"], changing("replace")],
  ["the arguments of an agent do not match the schema", toolCall("agent", { n: "x" }), ["invalid-input"]],
  [
    "an agent exceeds maxToolCalls",
    [toolCall("work"), toolCall("agent", { n: 1 })],
    ["completed", "limit"],
    { limits: { maxToolCalls: 1 } },
  ],
];

const running: readonly Row[] = [
  ["its tool succeeds", toolCall("work"), ["completed"]],
  ["its tool fails", toolCall("fails"), ["failed"]],
  ["its tool restarts the context", toolCall("restarts"), ["completed"]],
  ["its tool takes too long", toolCall("slow"), ["timed-out"]],
  ["its result comes from outside", toolCall("later"), ["deferred"]],
  ["its tool is an agent", toolCall("agent", { n: 1 }), ["completed"]],
];

const tools = [
  ...[work, strict, broken, agent],
  tool("fails", () => Promise.reject(new Error("no"))),
  tool("restarts", () => contextRestart({ type: "context_restart_x" })),
  tool("slow", () => new Promise(() => {}), { timeoutMs: 5 }),
  tool("later", () => defer()),
];

interface Told {
  readonly starts: readonly string[];
  readonly outcomes: readonly string[];
}

function toldBy(events: readonly LoopEvent[]): Told {
  const own = events.filter(({ path }) => path === undefined);
  return {
    starts: own.flatMap((event) => (event.type === "tool-start" ? [event.callId] : [])),
    outcomes: own.flatMap((event) => (event.type === "tool-end" ? [event.outcome] : [])),
  };
}

async function tellTwice(calls: MockMessage, more: Partial<LoopOptions> = {}): Promise<readonly Told[]> {
  const middleware = [contextRestarts()];
  const playing = play([calls, text("Done.")], { tools, middleware, runId: "r", ...more });
  await playing.clock.runAll();
  const { journal } = await playing.result;
  const again = recordEvents();
  const saved = memoryJournal(JSON.parse(JSON.stringify(journal)) as never);
  const provider = createMockProvider([]);
  const messages = [{ role: "user", content: "Go." }] as const;
  await runToolLoop({ tools, middleware, runId: "r", ...more, provider, messages, journal: saved, events: again.emitter });
  return [toldBy(playing.recording.events), toldBy(again.events)];
}

describe("the tool-start event", () => {
  it.for(refusals)("is not sent for a call if %s, live and in a replay", async ([, calls, outcomes, more]) => {
    for (const { starts, outcomes: told } of await tellTwice(calls, more)) {
      expect([...told].sort()).toEqual([...outcomes].sort());
      expect(starts).toHaveLength(outcomes.length - 1);
    }
  });

  it.for(running)("is sent once for a call if %s, live and in a replay", async ([, calls, outcomes, more]) => {
    for (const told of await tellTwice(calls, more)) expect(told).toEqual({ starts: ["call_i0_0"], outcomes });
  });

  it("is sent again, marked as replayed, when the tool runs again after its question is answered", async () => {
    const asks = tool("asks", async (_, context) => `${await ask(context, { question: "Which?" })}!`, { durable: true });
    const first = play([toolCall("asks"), text("Done.")], { tools: [asks], runId: "r" });
    const { journal } = await first.result;
    const answers = { call_i0_0: { kind: "result", result: "blue" } } as const;
    const second = play([text("Done.")], { tools: [asks], runId: "r", journal, answers });
    await second.result;
    const told = second.recording.events.flatMap((event) =>
      event.type === "tool-start" || event.type === "tool-end" ? [`${event.type} ${event.replayed === true}`] : [],
    );
    expect(told).toEqual(["tool-start true", "tool-end false"]);
  });
});

describe("a refused call without tool-start", () => {
  async function refused(): Promise<readonly LoopEvent[]> {
    const playing = play([toolCall("wrok", { n: 1 }), text("Done.")], { tools });
    await playing.result;
    return playing.recording.events;
  }

  it("appears with its arguments and its result in an AI SDK UI", async () => {
    const mapper = createUIMessageMapper({});
    const chunks = (await refused()).flatMap((event) => [...mapper.map(event)]);
    expect(chunks.filter(({ type }) => type === "tool-input-available" || type === "tool-output-error")).toMatchObject([
      { type: "tool-input-available", toolName: "wrok", input: { n: 1 } },
      { type: "tool-output-error" },
    ]);
  });

  it("appears with its arguments and its result in AG-UI", async () => {
    const mapper = createAGUIMapper({});
    const events = (await refused()).flatMap((event) => [...mapper.map(event)]);
    expect(events.filter(({ type }) => type.startsWith("TOOL_CALL"))).toMatchObject([
      { type: "TOOL_CALL_START", toolCallName: "wrok" },
      { type: "TOOL_CALL_ARGS", delta: '{"n":1}' },
      { type: "TOOL_CALL_END" },
      { type: "TOOL_CALL_RESULT", metadata: { outcome: "unknown-tool" } },
    ]);
  });

  it("has a span with its arguments, its outcome and its error, and no duration", async () => {
    const stage = setUpTracing({ captureContent: true });
    const provider = createMockProvider([toolCall("wrok", { n: 1 }), text("Done.")]);
    const messages = [{ role: "user", content: "Go." }] as const;
    await runToolLoop(addWatchers({ provider, messages, tools }, tracing(stage.options)));
    const span = stage.spans().find(({ name }) => name === "execute_tool");
    expect(span?.attributes).toMatchObject({
      "gen_ai.tool.name": "wrok",
      "gen_ai.tool.call.arguments": '{"n":1}',
      "turnwright.tool.outcome": "unknown-tool",
      "turnwright.tool.executed": false,
      "error.type": "unknown-tool",
    });
    const metrics = await stage.metrics();
    expect(metrics.map(([name]) => name)).not.toContain("gen_ai.execute_tool.duration");
  });

  it("starts and ends immediately on the tracing channel for calls", async () => {
    const heard: unknown[] = [];
    const listen = (edge: string) => (message: unknown) => {
      const { name, args, outcome } = message as ToolMessage;
      heard.push([edge, name, args, outcome]);
    };
    const [start, end] = [listen("start"), listen("asyncEnd")];
    subscribe(`tracing:${toolChannel}:start`, start);
    subscribe(`tracing:${toolChannel}:asyncEnd`, end);
    const provider = createMockProvider([toolCall("wrok", { n: 1 }), text("Done.")]);
    const messages = [{ role: "user", content: "Go." }] as const;
    await runToolLoop(addWatchers({ provider, messages, tools }, diagnostics({ captureContent: true })));
    unsubscribe(`tracing:${toolChannel}:start`, start);
    unsubscribe(`tracing:${toolChannel}:asyncEnd`, end);
    expect(heard).toEqual([
      ["start", "wrok", { n: 1 }, undefined],
      ["asyncEnd", "wrok", { n: 1 }, "unknown-tool"],
    ]);
  });
});
