import { expect, it } from "vitest";
import type { Journal, Json } from "turnwright";
import { isLoopError } from "turnwright";
import { text, toolCall } from "turnwright/testing";
import { createDurableStore } from "../durable-store.ts";
import { answersOf, outcomesOf, play, type Playing, tool } from "../play.ts";
import { askUser } from "./outside-stage.ts";

function setUp(): { readonly ran: string[]; send(key: string, value: Json): void; start(): Playing } {
  const store = createDurableStore();
  const sent = new Map<string, (value: Json) => void>();
  const ran: string[] = [];
  const wait = (key: string): Promise<Json> => new Promise((resolve) => sent.set(key, resolve));
  const tools = [tool("job", (_, { defer }) => (ran.push("job"), defer())), tool("look", () => void ran.push("look")), askUser];
  return {
    ran,
    send: (key, value) => sent.get(key)?.(value),
    start: () => {
      const journal: Journal = { ...store.open(), wait };
      const calls = [toolCall("job"), toolCall("ask_user", { question: "Which?" }), toolCall("look")];
      return play([calls, text("Done.")], { runId: "r", tools, journal, limits: { toolConcurrency: 1 } });
    },
  };
}

it("journal.wait() lets the run continue when the results arrive", async () => {
  const { ran, send, start } = setUp();
  const playing = start();
  await playing.clock.advance(0);
  expect(ran).toEqual(["job", "look"]);
  send("i0/result/0/job/decision1", { kind: "result", result: "made" });
  await playing.clock.advance(0);
  send("i0/result/1/ask_user/decision1", { kind: "failed", error: "The user left." });
  const result = await playing.result;
  expect([result.reason.kind, outcomesOf(result)]).toEqual([
    "answered",
    ["call_i0_0: completed", "call_i0_1: failed", "call_i0_2: completed"],
  ]);
});

it("a call in journal.wait() keeps waiting after an invalid result, which is reported", async () => {
  const { send, start } = setUp();
  const playing = start();
  await playing.clock.advance(0);
  send("i0/result/0/job/decision1", "made");
  await playing.clock.advance(0);
  send("i0/result/0/job/decision2", { kind: "result", result: "made" });
  await playing.clock.advance(0);
  send("i0/result/1/ask_user/decision1", { kind: "result", result: { answer: 7 } });
  await playing.clock.advance(0);
  send("i0/result/1/ask_user/decision2", { kind: "result", result: { answer: "blue" } });
  const result = await playing.result;
  expect(answersOf(result).map(({ result: given }) => given)).toEqual(["made", { answer: "blue" }, null]);
  const told = playing.recording.of("listener-error").map(({ event, error }) => [event, error.message]);
  expect(told).toEqual([
    ["journal.wait", expect.stringContaining('is "made"')],
    ["journal.wait", expect.stringContaining("answer: Invalid input")],
  ]);
});

it('a call in journal.wait() gets the outcome "interrupted" if the run is stopped', async () => {
  const { start } = setUp();
  const playing = start();
  await playing.clock.advance(0);
  playing.control.stop();
  const result = await playing.result;
  expect([result.reason.kind, outcomesOf(result)]).toEqual([
    "stopped",
    ["call_i0_0: interrupted", "call_i0_1: interrupted", "call_i0_2: completed"],
  ]);
  expect(playing.clock.pending).toBe(0);
});

it("journal.wait() rejects the run if the journal engine fails", async () => {
  const store = createDurableStore();
  const journal: Journal = { ...store.open(), wait: () => Promise.reject(new Error("gone")) };
  const tools = [tool("job", (_, { defer }) => defer())];
  const { result } = play([toolCall("job")], { runId: "r", tools, journal });
  const error: unknown = await result.catch((thrown: unknown) => thrown);
  expect([String(error), isLoopError(error)]).toEqual(["Error: gone", false]);
});
