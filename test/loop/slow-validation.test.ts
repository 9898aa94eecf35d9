import { expect, it } from "vitest";
import { approve, type Approve, defineTool, type LoopResult } from "turnwright";
import type { StandardResult } from "../../src/core/types/common.ts";
import { replayJournal } from "turnwright/journal";
import { text, toolCall } from "turnwright/testing";
import { createDurableStore } from "./durable-store.ts";
import { outcomesOf, play, type Playing } from "./play.ts";

interface Said {
  readonly amount: number;
  readonly approve: Approve | undefined;
}

const edit: Approve = () => ({ kind: "modify", args: { amount: 5 } });

function setUp({ amount, approve: policy }: Said): {
  readonly ran: unknown[];
  start(tookMs: number, replays?: boolean): Playing;
} {
  const ran: unknown[] = [];
  const store = createDurableStore();
  const start = (tookMs: number, replays = false): Playing =>
    play([toolCall("pay", { amount }), text("Done.")], ({ clock }) => {
      const validate = (value: unknown): Promise<StandardResult<unknown>> => {
        const answer = JSON.stringify(value).includes("5") ? { issues: [{ message: "too much" }] } : { value };
        return new Promise((resolve) => void clock.setTimeout(() => resolve(answer), tookMs));
      };
      const jsonSchema = { input: () => ({ type: "object" }) };
      const inputSchema = { "~standard": { version: 1, vendor: "test", validate, jsonSchema } } as const;
      const pay = defineTool({ name: "pay", description: "Pays", inputSchema, execute: (args) => ran.push(args) });
      const journal = replays ? replayJournal(store.open()) : store.open();
      return { runId: "r", tools: [pay], journal, middleware: [approve(policy)], timeouts: { callbackMs: 200 } };
    });
  return { ran, start };
}

async function checkTold(result: LoopResult, start: (tookMs: number, replays: boolean) => Playing): Promise<void> {
  for (const replays of [false, true]) {
    const told = start(0, replays);
    await told.clock.runAll();
    expect((await told.result).messages).toEqual(result.messages);
  }
}

it.for<[what: string, said: Said, stopMs: number]>([
  ["invalid arguments", { amount: 5, approve: undefined }, 50],
  ["valid arguments", { amount: 1, approve: undefined }, 50],
  ["edited arguments", { amount: 1, approve: edit }, 150],
])('a stop during the validation of %s gives the call the outcome "not-run"', async ([, said, stopMs]) => {
  const { ran, start } = setUp(said);
  const playing = start(100);
  await playing.clock.advance(stopMs);
  playing.control.stop();
  const result = await playing.result;
  expect([result.reason.kind, outcomesOf(result)]).toEqual(["stopped", ["call_i0_0: not-run"]]);
  await checkTold(result, start);
  expect(ran).toEqual([]);
});

it('a call whose validation timed out has the outcome "invalid-input", live and in a replay', async () => {
  const { ran, start } = setUp({ amount: 1, approve: undefined });
  const playing = start(300);
  await playing.clock.advance(200);
  const result = await playing.result;
  expect([result.reason.kind, outcomesOf(result)]).toEqual(["answered", ["call_i0_0: invalid-input"]]);
  await playing.clock.runAll();
  await checkTold(result, start);
  expect(ran).toEqual([]);
});
