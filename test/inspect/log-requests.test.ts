import { describe, expect, it } from "vitest";
import {
  contextRestarts,
  defineAgentTool,
  defineTool,
  type LoopOptions,
  maskResults,
  prepareIteration,
  runToolLoop,
} from "turnwright";
import { parseRunLog, runLog } from "turnwright/inspect";
import { chunk, createMockProvider, text, toolCall } from "turnwright/testing";
import { linesOf, logRun } from "./log-run.ts";

const messages = [{ role: "user", content: "Go." }] as const;
const lookUp = defineTool({
  name: "look_up",
  description: "Looks up",
  inputSchema: { type: "object" },
  execute: () => ({ found: true }),
});

describe("the requests in a run log", () => {
  const variants: readonly (readonly [what: string, more: Partial<LoopOptions>])[] = [
    ["no policies", {}],
    ["masking", { middleware: [maskResults({ keepIterations: 1, minTokens: 0 })] }],
    [
      "masking in batches and context items",
      { middleware: [maskResults({ keepIterations: 1, batchOf: 3, minTokens: 0 }), contextRestarts({ items: [{ a: 1 }] })] },
    ],
  ];

  it.for(variants)("contain the same messages as the requests to the provider, with %s", async ([, more]) => {
    const provider = createMockProvider(({ iteration }) =>
      iteration < 12 ? [toolCall("look_up", { n: iteration % 3 }), toolCall("look_up")] : text("Done."),
    );
    const { log } = await logRun({ provider, tools: [lookUp], messages, ...more });
    expect(log.runs[0]?.iterations.map(({ request }) => request?.messages())).toEqual(
      provider.requests.map((request) => request.messages),
    );
  });

  it("are written once if a hook returns the same provider again", async () => {
    const lines: string[] = [];
    const provider = createMockProvider([text("Hello.")]);
    const middleware = [prepareIteration(() => ({ provider })), runLog({ to: { write: (line) => void lines.push(line) } })];
    await runToolLoop({ provider, messages, middleware });
    expect(linesOf(lines, "request")).toHaveLength(1);
    expect(parseRunLog(lines.join("")).runs[0]?.iterations).toHaveLength(1);
  });

  it('are followed by "first-token" and "output" lines if the model refuses', async () => {
    const provider = createMockProvider([[chunk({ type: "refusal-delta", text: "No." })]]);
    const [iteration] = (await logRun({ provider, messages })).log.runs[0]?.iterations ?? [];
    expect([iteration?.firstToken?.kind, iteration?.output?.text]).toEqual(["text", "No."]);
  });
});

describe("the run log for a run with nested runs", () => {
  it("lists each nested run below the call that started it", async () => {
    const ask = defineAgentTool({
      name: "ask",
      description: "Asks",
      inputSchema: { type: "object" },
      prepare: () => ({
        messages: [{ role: "user", content: "Inner." }],
        provider: createMockProvider([toolCall("look_up"), text("Inner answer.")], { model: "small" }),
        tools: [lookUp],
      }),
    });
    const { log } = await logRun({
      messages,
      provider: createMockProvider([[toolCall("look_up"), toolCall("ask")], text("Done.")]),
      tools: [ask, lookUp],
    });
    expect(log.runs).toHaveLength(1);
    const calls = log.runs[0]?.iterations[0]?.calls ?? [];
    expect(calls.map(({ name, runs }) => [name, runs.length])).toEqual([
      ["look_up", 0],
      ["ask", 1],
    ]);
    expect(calls[1]?.runs[0]).toMatchObject({
      path: ["call_i0_1"],
      model: "small",
      status: "completed",
      iterations: [{ calls: [{ name: "look_up" }] }, { output: { text: "Inner answer." } }],
    });
  });
});
