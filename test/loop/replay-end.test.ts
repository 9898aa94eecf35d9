import { describe, expect, it } from "vitest";
import { approve, defineAgentTool, memoryJournal, type SavedJournal } from "turnwright";
import { createMockProvider, createTestClock, recordEvents, text, toolCall } from "turnwright/testing";
import { runToolLoop, type LoopOptions, type LoopResult } from "turnwright";
import { tool } from "./play.ts";

const ask = [{ role: "user" as const, content: "Go." }];

async function run(journal: LoopOptions["journal"], more: Partial<LoopOptions> = {}) {
  const recording = recordEvents();
  const provider = createMockProvider(({ iteration }) =>
    iteration === 0 ? [toolCall("save", { n: 1 }, { fragments: 0 })] : [text("Done.")],
  );
  const options = { provider, tools: [tool("save", (args) => args)], messages: ask, clock: createTestClock(), ...more };
  const result = await runToolLoop({ ...options, journal, events: recording.emitter });
  return { result, recording };
}

function upTo(result: LoopResult, key: string): SavedJournal {
  const { steps }: SavedJournal = JSON.parse(JSON.stringify(result.journal));
  const keys = Object.keys(steps);
  expect(keys).toContain(key);
  return { steps: Object.fromEntries(Object.entries(steps).slice(0, keys.indexOf(key))) };
}

describe("the replay-end event", () => {
  it("is not emitted by a new run", async () => {
    const { recording } = await run(undefined);
    expect(recording.of("replay-end")).toEqual([]);
  });

  it("is not emitted if no model request, call or hook was replayed", async () => {
    const { result } = await run(undefined);
    const { recording } = await run(memoryJournal(upTo(result, "i0/request/model")));
    expect(recording.of("replay-end")).toEqual([]);
  });

  it.for([
    ["i0/call/0/save/outcome", 0, "tool-start"],
    ["i0/next", 1, "iteration-start"],
    ["i1/request/model", 1, "iteration-start"],
  ] as const)('comes before the first new step if the journal ends before the step "%s"', async ([key, iteration, next]) => {
    const { result } = await run(undefined);
    const { recording } = await run(memoryJournal(upTo(result, key)));
    const index = recording.types().indexOf("replay-end");
    expect(recording.of("replay-end")).toEqual([{ type: "replay-end", runId: recording.events[0]?.runId, iteration }]);
    const after = recording.events.slice(index + 1);
    expect(after[0]?.type).toBe(next);
    expect(after.filter(({ replayed }) => replayed === true).map(({ type }) => type)).toEqual(
      key === "i0/call/0/save/outcome" ? ["iteration-end"] : [],
    );
  });

  it('comes before "run-end" if every step is recorded', async () => {
    const { result } = await run(undefined);
    const { recording } = await run(result.journal);
    expect(recording.types().slice(-2)).toEqual(["replay-end", "run-end"]);
    expect(recording.of("replay-end")).toMatchObject([{ iteration: 1 }]);
  });

  it("is emitted once in each execution of a run that waits, even if the run keeps waiting", async () => {
    const middleware = [approve(() => ({ kind: "ask" as const }))];
    const first = await run(undefined, { middleware });
    expect(first.recording.of("replay-end")).toEqual([]);
    const waiting = await run(first.result.journal, { middleware });
    expect(waiting.recording.types().slice(-2)).toEqual(["replay-end", "run-end"]);
    const [call] = first.result.pendingCalls;
    const decided = await run(first.result.journal, { middleware, answers: { [call?.callId ?? ""]: { kind: "approve" } } });
    expect(decided.recording.types().filter((type) => /replay|decided|tool-start|run/.test(type))).toEqual([
      "run-start",
      "replay-end",
      "approval-decided",
      "tool-start",
      "run-end",
    ]);
  });

  it("is emitted only by the outermost run when a nested run executes its first new step", async () => {
    const inner = createMockProvider(({ iteration }) =>
      iteration === 0 ? [toolCall("save", { n: 1 }, { fragments: 0 })] : [text("Inner.")],
    );
    const agent = defineAgentTool({
      name: "save",
      description: "save",
      inputSchema: { type: "object" },
      prepare: () => ({ provider: inner, messages: ask, tools: [tool("save", (args) => args)] }),
      toResult: ({ text: answer }) => answer,
    });
    const { result } = await run(undefined, { tools: [agent] });
    const { recording } = await run(memoryJournal(upTo(result, "i0/call/0/save/tool/run/i1/request/model")), { tools: [agent] });
    expect(recording.of("replay-end")).toEqual([{ type: "replay-end", runId: recording.events[0]?.runId, iteration: 0 }]);
    const types = recording.types();
    expect(types[types.indexOf("replay-end") + 1]).toBe("iteration-start");
  });
});
