import { describe, expect, it } from "vitest";
import { approve, createToolRegistry, runToolLoop, type Tool } from "turnwright";
import type { ExecutableTool } from "turnwright/kit";
import { createMockProvider, createTestClock, registrySuite, runTool, text, toolCall } from "turnwright/testing";
import { importTool, importTools } from "turnwright/interop";
import { z } from "zod";
import { answersOf, never, play } from "../loop/play.ts";
import { kinds, type MakeTool, type Work } from "./kinds.ts";

const table = Object.entries(kinds);

const echo: Work = { name: "echo", description: "Gives back its text.", run: ({ text: said }) => ({ text: said }) };
const work: readonly Work[] = [
  echo,
  {
    name: "break",
    description: "Fails.",
    run: () => {
      throw new Error("out of order");
    },
  },
  { name: "hold", description: "Goes on until it is stopped.", run: (_, signal) => untilAborted(signal) },
];

function untilAborted(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_, reject) => {
    signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}

const noArguments = z.object({});

/** Parses the JSON text that the test tools from Anthropic and LangChain return. */
function parsed(data: unknown): unknown {
  return typeof data === "string" ? JSON.parse(data) : data;
}

/** Wraps a tool and parses its text results, so that the results of all libraries can be compared. */
function readable(tool: ExecutableTool<unknown>): Tool<unknown> {
  return { ...tool, execute: async (args, context) => readText(await tool.execute(args, context)) };
}

function readText(output: unknown): unknown {
  const data: unknown = typeof output === "object" && output !== null && "data" in output ? output.data : output;
  return typeof data === "string" ? JSON.parse(data) : output;
}

describe.for(table)("importTool with tools from %s", ([, make]) => {
  const imported = (job: Work, schema?: z.ZodObject): ExecutableTool<unknown> =>
    importTool(make(job, schema), { name: job.name });

  const suite = registrySuite({
    create: () => ({
      registry: createToolRegistry(work.map((job) => readable(imported(job, job.name === "echo" ? undefined : noArguments)))),
    }),
  });
  for (const { title, run } of suite) it(`creates a registry that ${title}`, run);

  it("shows a tool to the model with the tool's schema", async () => {
    const { provider, result } = play([toolCall("echo", { text: "hi" }), text("Done.")], {
      tools: [imported(echo)],
      middleware: [approve()],
    });
    const { messages } = await result;
    expect(provider.requests[0]?.tools).toMatchObject([
      {
        name: "echo",
        description: "Gives back its text.",
        inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
      },
    ]);
    const [answer] = answersOf({ messages });
    expect([answer?.outcome, parsed(answer?.result)]).toEqual(["completed", { text: "hi" }]);
  });

  it("tells the model why arguments are invalid, without running the tool", async () => {
    const ran: unknown[] = [];
    const tool = imported({ ...echo, run: (args) => ran.push(args) });
    const { result } = play([toolCall("echo", { text: 42 }), text("Done.")], { tools: [tool], middleware: [approve()] });
    const [answer] = answersOf(await result);
    // OpenAI Agents validates the arguments during the call, so invalid arguments fail the call.
    const outcome = make === kinds["OpenAI Agents"] ? "failed" : "invalid-input";
    expect([answer?.outcome, ran]).toEqual([outcome, []]);
    expect(JSON.stringify(answer?.result)).toMatch(outcome === "failed" ? /Invalid JSON input for tool/ : /text: .*string/);
  });

  it("puts a throwing tool's error message into the outcome", async () => {
    const [, broken] = work;
    expect(broken && (await runTool(imported(broken, noArguments)))).toMatchObject({
      kind: "failed",
      error: { message: "out of order" },
    });
  });

  it.for<[title: string, reason: string, act: (playing: ReturnType<typeof play>) => unknown]>([
    ["a stop", "stopped", ({ control }) => control.stop()],
    ["a kill", "killed", ({ control }) => control.kill()],
    ["an abort", "aborted", ({ abort }) => abort.abort(new Error("enough"))],
    ["a timeout", "answered", ({ clock }) => clock.advance(1_000)],
  ])("aborts the signal of a tool after %s", async ([, reason, act]) => {
    let heard: AbortSignal | undefined;
    let start: () => void = () => {};
    const started = new Promise<void>((resolve) => {
      start = resolve;
    });
    const tool = imported({
      ...echo,
      run: (_, signal) => {
        heard = signal;
        start();
        return never;
      },
    });
    const playing = play([toolCall("echo", { text: "hi" }), text("Done.")], {
      tools: [tool],
      middleware: [approve()],
      timeouts: { toolMs: 1_000, toolCleanupMs: 0 },
    });
    await started;
    expect(heard?.aborted).toBe(false);
    await act(playing);
    expect((await playing.result).reason.kind).toBe(reason);
    expect(heard?.aborted).toBe(true);
    expect(playing.clock.pending).toBe(0);
  });

  it("validates a call's arguments exactly once", async () => {
    const got: unknown[] = [];
    const transforming = z.object({ text: z.string().transform((said) => said.length), unit: z.enum(["C", "F"]).default("C") });
    const tool = importTool(transformed(make, transforming, got), {
      name: "measure",
      // zod cannot describe a transform as JSON Schema, and each library handles that differently.
      jsonSchema: { type: "object", properties: { text: { type: "string" } } },
    });
    expect((await runTool(tool, { text: "four" })).kind).toBe("completed");
    expect(got).toEqual([{ text: 4, unit: "C" }]);
  });

  it("leaves no timers after a run with two calls", async () => {
    const clock = createTestClock();
    const provider = createMockProvider([[toolCall("echo", { text: "a" }), toolCall("echo", { text: "b" })], text("Done.")]);
    const abort = new AbortController();
    const result = await runToolLoop({
      provider,
      tools: [imported(echo)],
      middleware: [approve()],
      messages: [{ role: "user", content: "Go." }],
      clock,
      signal: abort.signal,
    });
    expect([result.text, clock.pending]).toEqual(["Done.", 0]);
  });
});

/** OpenAI Agents and Anthropic convert the schema when the tool is created, so they reject a schema with a transform. */
function transformed(make: MakeTool, inputSchema: z.ZodObject, got: unknown[]): object {
  const job: Work = { name: "measure", description: "Measures.", run: (args) => got.push(args) };
  if (make !== kinds["OpenAI Agents"] && make !== kinds["Anthropic"]) return make(job, inputSchema);
  const made = make(job);
  const parse = (args: unknown): unknown => inputSchema.parse(args);
  return make === kinds["Anthropic"]
    ? { ...made, parse }
    : { ...made, invoke: async (_: unknown, input: string) => job.run(inputSchema.parse(JSON.parse(input)), undefined) };
}

describe("importTools", () => {
  it("uses an object's keys as the tool names", async () => {
    const tools = importTools(Object.fromEntries(table.map(([, make], index) => [`tool_${index}`, make(echo)])), {
      tool_0: { timeoutMs: 5, description: "The first." },
    });
    expect(tools.map(({ name, timeoutMs }) => [name, timeoutMs])).toEqual(
      table.map((_, index) => [`tool_${index}`, index === 0 ? 5 : undefined]),
    );
    expect(tools[0]?.description).toBe("The first.");
    for (const tool of tools) expect(parsed(Reflect.get(await runTool(tool, { text: "hi" }), "data"))).toEqual({ text: "hi" });
  });

  it("imports an array of named tools", () => {
    const named = table.filter(([library]) => !library.startsWith("AI SDK")).map(([, make]) => make(echo));
    expect(importTools(named, { echo: { sequential: true } }).map(({ name, sequential }) => [name, sequential])).toEqual(
      named.map(() => ["echo", true]),
    );
  });
});
