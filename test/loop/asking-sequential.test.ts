import { expect, it } from "vitest";
import { approve, type Approve, type LoopOptions } from "turnwright";
import { replayJournal } from "turnwright/journal";
import { createMockProvider, type MockPart, text, toolCall } from "turnwright/testing";
import { createDurableStore } from "./durable-store.ts";
import { never, outcomesOf, play, tool } from "./play.ts";

const policy: Approve = ({ name }) => ({ kind: name.startsWith("ask") ? "ask" : "approve" });
const calls = (...names: readonly string[]): readonly MockPart[] => names.map((name) => toolCall(name));

it.for<[what: string, names: readonly string[], before: readonly string[], waiting: readonly string[]]>([
  ["no call overtakes a waiting sequential call", ["askAlone", "look", "alone"], [], ["0"]],
  ["a sequential call does not overtake a waiting call", ["look", "ask", "look", "alone", "look"], ["look", "look"], ["1"]],
  ["parallel calls overtake a waiting parallel call", ["ask", "look", "look"], ["look", "look"], ["0"]],
  ["earlier calls run although a sequential call waits", ["look", "alone", "askAlone", "look"], ["look", "alone"], ["2"]],
  ["pendingCalls lists every waiting call", ["askAlone", "ask", "look", "askAlone"], [], ["0", "1", "3"]],
])("approval of sequential tools: %s", async ([, names, before, waiting]) => {
  const ran: string[] = [];
  const work = (name: string, sequential: boolean): ReturnType<typeof tool> =>
    tool(name, () => void ran.push(name), { sequential });
  const tools = [work("ask", false), work("askAlone", true), work("look", false), work("alone", true)];
  const provider = createMockProvider(({ messages }) => (messages.length === 1 ? calls(...names) : text("Done.")));
  const store = createDurableStore();
  const start = (more: object): ReturnType<typeof play> =>
    play([], { runId: "r", provider, tools, middleware: [approve(policy)], journal: store.open(), ...more });
  const first = start({});
  const result = await first.result;
  expect([ran, result.pendingCalls.map(({ callId }) => callId)]).toEqual([before, waiting.map((index) => `call_i0_${index}`)]);
  expect(first.recording.of("tool-start").map(({ name }) => name)).toEqual(before);
  expect((await start({ journal: replayJournal(store.open()) }).result).messages).toEqual(result.messages);

  const answers: LoopOptions["answers"] = Object.fromEntries(waiting.map((index) => [`call_i0_${index}`, { kind: "approve" }]));
  const done = await start({ answers }).result;
  expect([done.text, outcomesOf(done)]).toEqual(["Done.", names.map((_, index) => `call_i0_${index}: completed`)]);
  expect([...ran].sort()).toEqual([...names].sort());
  const alone = ran.findIndex((name) => /alone/i.test(name));
  const firstAlone = names.findIndex((name) => /alone/i.test(name));
  expect([...ran.slice(0, Math.max(0, alone))].sort()).toEqual([...names.slice(0, Math.max(0, firstAlone))].sort());
});

it("approval of sequential tools: control.stop() prevents waiting calls and later calls from running", async () => {
  const ran: string[] = [];
  const tools = [
    tool("deaf", () => never),
    tool("askAlone", () => void ran.push("askAlone"), { sequential: true }),
    tool("look", () => void ran.push("look")),
  ];
  const provider = createMockProvider(({ messages }) =>
    messages.length === 1 ? calls("deaf", "askAlone", "look") : text("Done."),
  );
  const store = createDurableStore();
  const options = { runId: "r", provider, tools, middleware: [approve(policy)], timeouts: { toolCleanupMs: 0 } };
  const playing = play([], { ...options, journal: store.open() });
  await playing.clock.flush();
  playing.control.stop();
  const result = await playing.result;
  const outcomes = ["call_i0_0: interrupted", "call_i0_1: not-run", "call_i0_2: not-run"];
  expect([result.reason.kind, outcomesOf(result)]).toEqual(["stopped", outcomes]);
  expect((await play([], { ...options, journal: replayJournal(store.open()) }).result).messages).toEqual(result.messages);
  const again = await play([], { ...options, journal: store.open(), resume: "retry-last" }).result;
  expect([again.text, outcomesOf(again), ran]).toEqual(["Done.", outcomes, []]);
});
