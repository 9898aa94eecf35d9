import { describe, expect, it } from "vitest";
import { createLoopEvents, defineTool, type LoopEvent, runToolLoop, streamToolLoop } from "../../core/index.ts";
import { createMockProvider, createTestClock, text, toolCall, usage, wait } from "../../testing/index.ts";
import { createRunTree, createTeam, renderTree, type RunTree, showTeam } from "../index.ts";

const messages = [{ role: "user", content: "Go." }] as const;
const spend = usage({ inputTokens: 900, outputTokens: 100 });
const look = defineTool({ name: "look", description: "Looks", inputSchema: {}, execute: () => 1 });
const pricing = ({ totalTokens }: { readonly totalTokens: number }): number => totalTokens / 100_000;

/** A lead with two members: one answers after a call, the other one fails. */
function scene() {
  const clock = createTestClock();
  const reader = createMockProvider([
    [wait(1_000), toolCall("look"), spend],
    [wait(1_500), text("Read."), spend],
  ]);
  const members = {
    reader: { description: "Reads", system: "Read.", tools: [look], provider: reader },
    writer: {
      description: "Writes",
      system: "Write.",
      tools: [look],
      provider: createMockProvider(() => [wait(400), toolCall("look"), spend]),
      limits: { maxIterations: 1 },
    },
  };
  const provider = createMockProvider([
    [toolCall("reader", { task: "Find\n\u001B[2Jthe \u202Etide 潮" }), toolCall("writer", { task: "Write it down" }), spend],
    [text("Done."), spend],
  ]);
  return { clock, options: { provider, messages, clock, pricing, ...createTeam({ members }) } };
}

async function treesOf(when: (event: LoopEvent) => boolean, width?: number): Promise<readonly string[]> {
  const { clock, options } = scene();
  const tree = createRunTree({ now: () => clock.now() });
  const seen: string[] = [];
  const reading = (async () => {
    for await (const event of streamToolLoop(options)) {
      tree.add(event);
      if (when(event)) seen.push(renderTree(tree, { width }));
    }
  })();
  await clock.advance(10_000);
  await reading;
  return seen;
}

describe("renderTree", () => {
  it("shows each run with its state, tools, tokens, cost and time", async () => {
    const [first, second, last] = await treesOf(({ type, iteration, path }) =>
      type === "tool-start" ? path !== undefined : type === "run-end" && iteration >= 0 && path === undefined,
    );
    expect(first).toMatchInlineSnapshot(`
      "● lead [waiting]                                                 0 tokens  0.4 s
      ├─ ● reader [thinking] Find [2Jthe tide 潮                       0 tokens  0.4 s
      └─ ● writer [look] Write it down                                 0 tokens  0.4 s"
    `);
    expect(second).toMatchInlineSnapshot(`
      "● lead [waiting]                                    1,000 tokens  $0.0100  1.0 s
      ├─ ● reader [look] Find [2Jthe tide 潮                           0 tokens  1.0 s
      └─ ✗ writer [timeout: max-iterations] Write it do…  1,000 tokens  $0.0100  0.4 s"
    `);
    expect(last).toMatchInlineSnapshot(`
      "✓ lead                                              5,000 tokens  $0.0500  2.5 s
      ├─ ✓ reader Find [2Jthe tide 潮                     2,000 tokens  $0.0200  2.5 s
      └─ ✗ writer [timeout: max-iterations] Write it do…  1,000 tokens  $0.0100  0.4 s"
    `);
  });

  it("counts two columns for symbols that are twice as wide as a letter", () => {
    const tree = createRunTree({ name: "\u2705\u26A1\u231A".repeat(20), now: () => 0 });
    tree.add({ type: "run-start", runId: "r1" } as LoopEvent);
    const [line = ""] = renderTree(tree, { width: 60 }).split("\n");
    expect(line.length + (line.match(/[\u2705\u26A1\u231A]/g)?.length ?? 0)).toBeLessThanOrEqual(60);
  });

  it("truncates long lines, and omits lines beyond the given height", async () => {
    const [narrow] = await treesOf(({ type, path }) => type === "run-end" && path === undefined, 40);
    expect(narrow).toMatchInlineSnapshot(`
      "✓ lead      5,000 tokens  $0.0500  2.5 s
      ├─ ✓ read…  2,000 tokens  $0.0200  2.5 s
      └─ ✗ writ…  1,000 tokens  $0.0100  0.4 s"
    `);
    const { clock, options } = scene();
    const tree = createRunTree({ name: "boss" });
    const events = createLoopEvents();
    for (const type of ["run-start", "tool-start", "run-end"] as const)
      events.on(type, (event: object) => tree.add({ ...event, type } as LoopEvent));
    const pending = runToolLoop({ ...options, events });
    await clock.advance(10_000);
    await pending;
    const lines = renderTree(tree, { height: 2 }).split("\n");
    expect([lines[0]?.slice(0, 6), lines[1], lines.length]).toEqual(["✓ boss", "… 2 more", 2]);
  });

  it("ignores events from unknown runs", () => {
    const tree: RunTree = createRunTree({ now: () => 0 });
    const start = (runId: string, path?: readonly string[]): LoopEvent => ({
      type: "run-start",
      runId,
      iteration: 0,
      provider: "p",
      model: "m",
      path,
    });
    tree.add(start("lost", ["nowhere"]));
    expect(renderTree(tree)).toBe("");
    for (const id of ["__proto__", "a", "a"]) tree.add(start(id));
    expect(tree.runs.map(({ runId }) => runId)).toEqual(["__proto__", "a"]);
  });
});

describe("showTeam", () => {
  async function show(isTTY: boolean): Promise<{ readonly written: readonly string[]; readonly pending: number }> {
    const { clock, options } = scene();
    const written: string[] = [];
    const events = createLoopEvents();
    showTeam(events, { output: { isTTY, columns: 60, rows: 10, write: (given) => void written.push(given) }, clock });
    const run = runToolLoop({ ...options, events });
    await clock.advance(10_000);
    await run;
    return { written, pending: clock.pending + events.eventNames().length };
  }

  it("redraws the tree in place in a terminal", async () => {
    const { written, pending } = await show(true);
    expect(written[0]).not.toContain("\u001B");
    expect(written.slice(1).every((frame) => frame.startsWith("\u001B[3A\r\u001B[J"))).toBe(true);
    const controls = written.join("").replaceAll("\u001B[3A\r\u001B[J", "").replaceAll("\n", "");
    expect(controls).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect([written.length > 10, written.at(-1)?.includes("✓ lead"), pending]).toEqual([true, true, 0]);
  });

  it("writes plain lines to a file", async () => {
    const { written, pending } = await show(false);
    expect(written.join("")).toMatchInlineSnapshot(`
      "lead started
        reader started: Find [2Jthe tide 潮
        writer started: Write it down
        writer ended as timeout, 1000 tokens
        reader ended as completed, 2000 tokens
      lead ended as completed, 5000 tokens
      "
    `);
    expect(pending).toBe(0);
  });

  it("stops when the returned function is called", async () => {
    const { clock, options } = scene();
    const events = createLoopEvents();
    const written: string[] = [];
    const stop = showTeam(events, { output: { write: (given) => void written.push(given) }, clock });
    stop();
    stop();
    const run = runToolLoop({ ...options, events });
    await clock.advance(10_000);
    await run;
    expect([written, events.eventNames()]).toEqual([[], []]);
  });

  it.for<[message: string, args: readonly unknown[]]>([
    ['Option "events" is an object, but must be an emitter from createLoopEvents.', [{}, {}]],
    ['Option "output" is undefined, but must be a stream with a "write" method.', [createLoopEvents(), {}]],
    ['There is no option "out".', [createLoopEvents(), { out: process.stdout }]],
  ])("throws with the message: %s", ([message, args]) => {
    expect(() => Reflect.apply(showTeam, undefined, args)).toThrow(message);
  });
});
