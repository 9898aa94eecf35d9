import { expect, it } from "vitest";
import { defineAgentTool, detectLoops, type LoopOptions, type LoopResult, memoryJournal, runToolLoop } from "turnwright";
import type { LoopAction } from "../../src/core/types/loop-event.ts";
import { createMockProvider, createTestClock, type MockScript, recordEvents, text, toolCall } from "turnwright/testing";
import { createDurableStore } from "./durable-store.ts";
import { outcomesOf, play, tool } from "./play.ts";
import { linesOf } from "./transcript-lines.ts";

const echo = tool("echo", (args) => args);
const warning = (count: number): string =>
  `user: You repeated identical tool calls ${count} times. Change your approach or answer.`;

function calling(letters: string): MockScript {
  return [...Array.from(letters, (letter) => toolCall("echo", { letter })), text("Done.")];
}

it('detectLoops counts from 0 again in a run that is retried with "retry-last"', async () => {
  const options = { runId: "r", messages: [{ role: "user" as const, content: "Go." }], clock: createTestClock() };
  const middleware = [detectLoops({ threshold: 2, action: "stop" })];
  const run = (script: MockScript, more: Partial<LoopOptions> = {}): Promise<LoopResult> =>
    runToolLoop({ ...options, ...more, provider: createMockProvider(script), tools: [echo], middleware });
  const first = await run(calling("aa"));
  expect(first.reason.kind).toBe("loop-detected");
  const saved = memoryJournal(JSON.parse(JSON.stringify(first.journal)));
  // A retry discards the message that ended the run. The count therefore starts with the next message.
  const second = await run(calling("aaa"), { journal: saved, resume: "retry-last" });
  expect([second.reason, second.iterations, second.toolCallsExecuted]).toEqual([
    { kind: "loop-detected", toolName: "echo", count: 2 },
    3,
    2,
  ]);
  const third = await run(calling("b"), { journal: second.journal, resume: "retry-last" });
  expect([third.text, outcomesOf(third).every((line) => line.endsWith("completed"))]).toEqual(["Done.", true]);
});

it("detectLoops counts a nested run's calls separately", async () => {
  const inner = createMockProvider(calling("aa"));
  const agent = defineAgentTool({
    name: "agent",
    description: "Looks around",
    inputSchema: { type: "object" },
    prepare: () => ({
      provider: inner,
      messages: [{ role: "user", content: "Look." }],
      tools: [echo],
      middleware: [detectLoops({ threshold: 2, action: "stop" })],
    }),
  });
  const playing = play([toolCall("agent", {}, { id: "x" }), text("It went round.")], { tools: [agent] });
  const result = await playing.result;
  expect([result.text, outcomesOf(result)]).toEqual(["It went round.", ["x: failed"]]);
  expect(playing.recording.of("loop-detected")).toMatchObject([{ path: ["x"], toolName: "echo", count: 2, action: "stop" }]);
});

it.for<LoopAction>(["warn", "stop", "inject-warning"])(
  'detectLoops with the action "%s" has the same effect in a resumed run and in a replay',
  async (action) => {
    for (let afterRecords = 1; afterRecords < 14; afterRecords += 1) {
      const store = createDurableStore();
      const asked: number[] = [];
      const run = (
        fate: object,
      ): { readonly result: Promise<LoopResult>; readonly heard: () => readonly (boolean | undefined)[] } => {
        const recording = recordEvents();
        const result = runToolLoop({
          provider: createMockProvider(({ iteration }) => {
            asked.push(iteration);
            return iteration < 4 ? toolCall("echo", { letter: iteration % 2 }) : text("Done.");
          }),
          tools: [echo],
          messages: [{ role: "user", content: "Go." }],
          runId: "durable",
          clock: createTestClock(),
          events: recording.emitter,
          journal: store.open(fate),
          middleware: [detectLoops({ threshold: 2, action })],
        });
        return { result, heard: () => recording.of("loop-detected").map(({ replayed }) => replayed) };
      };
      await run({ afterRecords }).result.catch(() => {});
      const second = run({});
      const result = await second.result;
      expect(second.heard()).toHaveLength(1);
      expect([result.reason.kind, result.iterations]).toEqual(action === "stop" ? ["loop-detected", 4] : ["answered", 5]);
      expect(linesOf(result.messages).includes(warning(2))).toBe(action === "inject-warning");
      const replay = run({});
      expect([(await replay.result).messages, replay.heard()]).toEqual([result.messages, [true]]);
      expect(asked).toEqual([...new Set(asked)]);
    }
  },
);
