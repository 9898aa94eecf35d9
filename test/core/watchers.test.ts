import { describe, expect, it } from "vitest";
import {
  defineTool,
  type LoopEvent,
  type LoopOptions,
  memoryJournal,
  type Middleware,
  runToolLoop,
  type Tool,
  type ToolContext,
  runNested,
} from "turnwright";
import type { Hooks, RunFacts } from "turnwright/kit";
import { createMockProvider, text, toolCall } from "turnwright/testing";

const messages: LoopOptions["messages"] = [{ role: "user", content: "Go." }];
const inputSchema = { type: "object" } as const;
const look = defineTool({ name: "look", description: "Looks", inputSchema, execute: () => "seen" });

/** A tool that starts a nested run, whose model calls `look`. */
function nests(durable?: true): Tool {
  const execute = async (_: unknown, context: ToolContext): Promise<string> => {
    const options = { provider: createModel("look"), messages, tools: [look] };
    return (await runNested(context, options)).text;
  };
  return defineTool({ name: "nests", description: "Nests", inputSchema, execute, durable });
}

function createModel(name: string): LoopOptions["provider"] {
  return createMockProvider(({ messages: said }) => (said.length === 1 ? toolCall(name) : text("Done.")));
}

const lineOf = ({ type, path = [] }: LoopEvent): string => [...path, type].join(" ");

describe("the `on` hook", () => {
  it("receives the events of a run and its nested runs, with the path of each event", async () => {
    const lines: string[] = [];
    const watcher: Middleware = { name: "watcher", pure: true, on: (event) => void lines.push(lineOf(event)) };
    await runToolLoop({ provider: createModel("nests"), messages, tools: [nests()], middleware: [watcher] });
    expect(lines.filter((line) => /start|end$/.test(line))).toEqual([
      "run-start",
      "iteration-start",
      "tool-args-end",
      "tool-start",
      "call_i0_0 run-start",
      "call_i0_0 iteration-start",
      "call_i0_0 tool-args-end",
      "call_i0_0 tool-start",
      "call_i0_0 tool-end",
      "call_i0_0 iteration-end",
      "call_i0_0 iteration-start",
      "call_i0_0 iteration-end",
      "call_i0_0 run-end",
      "tool-end",
      "iteration-end",
      "iteration-start",
      "iteration-end",
      "run-end",
    ]);
  });

  it("cannot break a run by throwing, and each failing hook is reported once", async () => {
    const told: string[] = [];
    const middleware: readonly Middleware[] = [
      {
        name: "throws",
        on() {
          throw new Error("first");
        },
      },
      { name: "rejects", on: () => Promise.reject(new Error("second")) as unknown as void },
      {
        name: "hears",
        on: (event) => void (event.type === "listener-error" && told.push(`${event.event} ${event.error.message}`)),
      },
    ];
    const result = await runToolLoop({ provider: createModel("look"), messages, tools: [look], middleware });
    expect([result.text, told]).toEqual(["Done.", ["run-start first", "run-start second"]]);
  });
});

/** Middleware that notes what its hooks see, under a name for each run. */
function noting(lines: string[]): Middleware {
  const hooksOf = (id: string, { definitions }: RunFacts): Hooks => ({
    on: (event) =>
      void (event.path === undefined && event.type === "run-end" && lines.push(`${id} run-end ${definitions()[0]?.name}`)),
    provider: (provider) => ({
      id: provider.id,
      model: provider.model,
      stream: (request, call) => (lines.push(`${id} stream`), provider.stream(request, call)),
    }),
    registry: (registry) => ({
      ...registry,
      executeTool: (name, args, context) => (lines.push(`${id} runs ${name}`), registry.executeTool(name, args, context)),
    }),
    nest: (run, { callId, name }) => hooksOf(`${id}/${callId} ${name}`, run),
    close: ({ failure, isNew }) =>
      void lines.push(`${id} closed ${isNew} ${failure === undefined ? "" : String(failure.error)}`.trim()),
  });
  return { name: "noting", pure: true, begin: (run) => hooksOf(run.runId, run) };
}

describe("the `registry`, `nest` and `close` hooks", () => {
  it.for([[undefined], [true]] as const)("observe a run and the nested run in its call, with durable: %s", async ([durable]) => {
    const lines: string[] = [];
    const options = {
      provider: createModel("nests"),
      messages,
      tools: [nests(durable)],
      middleware: [noting(lines)],
      runId: "r",
    };
    const { journal } = await runToolLoop(options);
    const nested = "r/call_i0_0 nests";
    expect(lines).toEqual([
      "r stream",
      "r runs nests",
      `${nested} stream`,
      `${nested} runs look`,
      `${nested} stream`,
      `${nested} run-end look`,
      `${nested} closed true`,
      "r stream",
      "r run-end nests",
      "r closed true",
    ]);
    lines.length = 0;
    await runToolLoop({ ...options, journal });
    expect(lines.filter((line) => !line.startsWith(nested))).toEqual([
      ...(durable === true ? ["r runs nests"] : []),
      "r run-end nests",
      "r closed false",
    ]);
  });

  it("receive a rejected run's error in `close`, and cannot break a run", async () => {
    const lines: string[] = [];
    const broken = memoryJournal();
    const journal: LoopOptions["journal"] = { ...broken, step: () => Promise.reject(new Error("full")) };
    const fails: Middleware = {
      name: "fails",
      pure: true,
      close() {
        throw new Error("never heard");
      },
    };
    const options = { provider: createMockProvider([text("Hi.")]), messages, middleware: [fails, noting(lines)], runId: "r" };
    await expect(runToolLoop({ ...options, journal })).rejects.toThrow("full");
    expect(lines).toEqual(["r closed false Error: full"]);
    expect((await runToolLoop(options)).text).toBe("Hi.");
  });
});
