import { describe, expect, it } from "vitest";
import { z } from "zod";
import { approve, defineTool, detectLoops, maskResults, type Middleware, stopWhen } from "turnwright";
import { type MockPart, text, toolCall } from "turnwright/testing";
import { bytesOf, endOf } from "./hostile-model.ts";
import { answersOf, outcomesOf, play, tool } from "./play.ts";

const megabytes = 1_000_000;
const huge = "x".repeat(4 * megabytes);
const nested = (levels: number): string => `{"to":${"[".repeat(levels)}${"]".repeat(levels)}}`;

const pay = defineTool({
  name: "pay",
  description: "Pays",
  inputSchema: z.strictObject({ to: z.string() }),
  execute: ({ to }) => to.length,
});

interface Row {
  readonly call: MockPart;
  readonly outcome: string;
  /** The maximum size of the tool result that the model reads, in bytes. */
  readonly reads: number;
}

const rows: Readonly<Record<string, Row>> = {
  "4 MB of arguments in one piece": { call: toolCall("pay", { to: huge }), outcome: "completed", reads: 8 },
  "4 MB of arguments in 40,000 pieces": {
    call: toolCall("pay", { to: huge }, { fragments: 40_000 }),
    outcome: "completed",
    reads: 8,
  },
  "4 MB of arguments without argument text": {
    call: toolCall("pay", { to: huge }, { fragments: 0 }),
    outcome: "completed",
    reads: 8,
  },
  "4 MB of arguments that are cut off": {
    call: toolCall("pay", {}, { rawArgs: `{"to":"${huge}` }),
    outcome: "malformed",
    reads: 300,
  },
  "4 MB of arguments that are not JSON": { call: toolCall("pay", {}, { rawArgs: huge }), outcome: "malformed", reads: 300 },
  "2 MB of arguments of the wrong type": {
    call: toolCall("pay", {}, { rawArgs: `{"to":[${"1,".repeat(megabytes)}1]}` }),
    outcome: "invalid-input",
    reads: 300,
  },
  "a 4 MB argument key": { call: toolCall("pay", { to: "a", [huge]: 1 }), outcome: "invalid-input", reads: 500 },
  "40,000 argument keys": {
    call: toolCall("pay", Object.fromEntries(Array.from({ length: 40_000 }, (_, index) => [`key ${index}`, 1]))),
    outcome: "invalid-input",
    reads: 500,
  },
  "4 MB of arguments for an unknown tool": { call: toolCall("paid", { to: huge }), outcome: "unknown-tool", reads: 300 },
  "a 4 MB tool name": { call: toolCall(huge), outcome: "unknown-tool", reads: 300 },
  "a 4 MB call id": { call: toolCall("pay", { to: "a" }, { id: huge }), outcome: "completed", reads: 8 },
};

it.for(Object.entries(rows))(
  "a hostile model: a call with %s is copied only a few times and gets a short result",
  { timeout: 60_000 },
  async ([, row]) => {
    const playing = play([row.call, text("Done.")], { tools: [pay] });
    const result = await endOf(playing);
    const [answer] = answersOf(result);
    expect([result.reason.kind, answer?.outcome, playing.provider.calls, playing.endedAt()]).toEqual([
      "answered",
      row.outcome,
      2,
      0,
    ]);
    expect(bytesOf(answer?.result)).toBeLessThanOrEqual(row.reads);
    // The arguments may appear three times in the messages, in four events, and eleven times in the whole result.
    const most = 5 * megabytes;
    expect(bytesOf(result.messages)).toBeLessThanOrEqual(3 * most);
    expect(bytesOf(playing.recording.events.filter(({ type }) => type !== "tool-args-delta"))).toBeLessThanOrEqual(4 * most);
    expect(bytesOf(result)).toBeLessThanOrEqual(11 * most);
  },
);

describe("a hostile model with nested arguments", () => {
  it.for<[levels: number, outcome: string, ran: number]>([
    [900, "completed", 1],
    [1_001, "malformed", 0],
    [300_000, "malformed", 0],
  ])("makes a call with %i levels, which is %s", async ([levels, outcome, timesRun]) => {
    let ran = 0;
    const echo = tool("echo", (args) => ((ran += 1), args));
    const middleware: readonly Middleware[] = [maskResults(), detectLoops(), approve(() => ({ kind: "approve" }))];
    for (const fragments of [0, 2]) {
      ran = 0;
      const calls = [toolCall("echo", {}, { rawArgs: nested(levels), fragments })];
      const result = await endOf(play([calls, calls, text("Done.")], { tools: [echo], middleware }));
      expect([result.reason.kind, ran, ...outcomesOf(result)]).toEqual([
        "answered",
        2 * timesRun,
        `call_i0_0: ${outcome}`,
        `call_i1_0: ${outcome}`,
      ]);
      if (outcome === "malformed") {
        const reads = { status: "malformed_arguments", reason: "a cyclic value, or more than 1,000 levels", tool_name: "echo" };
        expect(answersOf(result)[0]?.result).toEqual(reads);
      }
    }
  });
});

describe("prototype keys in a hostile model's arguments", () => {
  const rawArgs =
    '{"__proto__":{"admin":true,"then":1},"constructor":{"prototype":{"admin":true}},"toString":1,"then":"no","toJSON":2}';

  it("reach tools, policies, events and results unchanged, and change no prototype", async () => {
    const seen: unknown[] = [];
    const see = (value: unknown): void => void seen.push(JSON.stringify(value));
    const echo = tool("echo", (args) => (see(args), args));
    const playing = play([toolCall("echo", {}, { rawArgs }), text("Done.")], {
      tools: [echo],
      middleware: [
        detectLoops(),
        stopWhen(({ response }) => (response.calls.forEach(({ args }) => see(args)), false)),
        approve(({ args }) => (see(args), { kind: "approve" })),
      ],
    });
    const result = await endOf(playing);
    for (const { args } of playing.recording.of("tool-start")) see(args);
    for (const { functionCall, functionResponse } of result.functionHistory) {
      see(functionCall.args);
      see(functionResponse.response.result);
    }
    for (const { result: read } of answersOf(result)) see(read);
    expect([seen.length, new Set(seen)]).toEqual([7, new Set([rawArgs])]);
    expect([Reflect.get({}, "admin"), Reflect.get(Object, "admin")]).toEqual([undefined, undefined]);
  });
});
