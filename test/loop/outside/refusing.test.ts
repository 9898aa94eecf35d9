import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  createToolRegistry,
  defer,
  defineTool,
  eagerTools,
  isLoopError,
  type LoopOptions,
  mergeRegistries,
  toolResult,
  withFilter,
  withPrefix,
  runNested,
} from "turnwright";
import { fromJsonSchema, withValidation } from "turnwright/json-schema";
import type { ToolTraits } from "../../../src/core/types/tool.ts";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { createDurableStore } from "../durable-store.ts";
import { answersOf, outcomesOf, play, type Playing, tool } from "../play.ts";
import { both, savedOf, setUp } from "./outside-stage.ts";

type Decisions = NonNullable<LoopOptions["answers"]>;

async function refusalOf({ result }: Playing): Promise<readonly [code: string, message: string]> {
  const error: unknown = await result.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  return isLoopError(error) ? [error.code, error.message] : ["none", String(error)];
}

const resultAdvice = 'Pass { kind: "result", result } or { kind: "failed", error }. The call is still waiting.';
const approvalAdvice =
  'Pass { kind: "approve" }, { kind: "deny", reason } or { kind: "modify", args }. The call is still waiting.';

describe("options.answers while a call is waiting for a result", () => {
  it.for<[what: string, answers: Decisions, code: string, message: string]>([
    [
      "an approval",
      { call_i0_0: { kind: "approve" } },
      "invalid-decision",
      `The decision about call "call_i0_0" is "approve". ${resultAdvice}`,
    ],
    [
      "a denial",
      { call_i0_2: { kind: "deny" } },
      "invalid-decision",
      `The decision about call "call_i0_2" is "deny". ${resultAdvice}`,
    ],
    [
      "a result that does not match its outputSchema",
      { call_i0_2: { kind: "result", result: { answer: 7 } } },
      "invalid-decision",
      `The decision about call "call_i0_2" does not fit the tool's "outputSchema": answer: Invalid input: expected string, received number. ${resultAdvice}`,
    ],
    [
      "a result from a page for a call that waits for a webhook",
      { call_i0_0: { kind: "result", result: { made: 3 }, fromPage: true }, call_i0_2: both["call_i0_2"] as never },
      "invalid-decision",
      `The decision about call "call_i0_0" comes from a page. A page may only answer calls of tools without "execute", and calls that used defer, ask or wait with { fromPage: true }. ${resultAdvice}`,
    ],
    [
      "a failure from a page for a call that waits for a webhook",
      { call_i0_0: { kind: "failed", error: "forged", fromPage: true } },
      "invalid-decision",
      'The decision about call "call_i0_0" comes from a page.',
    ],
    [
      "a result for a call that already has one",
      { call_i0_1: { kind: "result", result: 1 } },
      "unknown-decision",
      'Call "call_i0_1" is not waiting for a decision or a result. Use the id of a waiting call: "call_i0_0", "call_i0_2".',
    ],
    [
      "a result for an unknown call",
      { call_9: { kind: "result", result: 1 } },
      "unknown-decision",
      'Call "call_9" is not waiting for a decision or a result.',
    ],
  ])("are rejected if they contain %s", async ([, answers, code, message]) => {
    const { open } = createDurableStore();
    const { ran, start } = setUp();
    const first = await start({ journal: open() }).result;
    const [refused, said] = await refusalOf(start({ journal: open(), answers }));
    expect([refused, said]).toEqual([code, expect.stringContaining(message)]);
    expect((await start({ journal: open() }).result).reason).toEqual(first.reason);
    const last = await start({ journal: open(), answers: both }).result;
    expect(outcomesOf(last).map((line) => line.split(" ")[1])).toEqual(["completed", "completed", "completed"]);
    expect(ran).toEqual(["call_i0_0", "call_i0_1"]);
  });

  it("are rejected if they contain a result that differs from the recorded result", async () => {
    const { start } = setUp();
    const second = start({ journal: await savedOf(start()), answers: both });
    const other: Decisions = { ...both, call_i0_0: { kind: "result", result: { made: 4 } } };
    expect((await refusalOf(start({ journal: await savedOf(second), answers: other })))[0]).toBe("unknown-decision");
  });

  it("are rejected if passed before a run was ever suspended", async () => {
    const { ran, start } = setUp();
    const early: Decisions = { call_i0_0: { kind: "result", result: 1 } };
    expect([(await refusalOf(start({ answers: early })))[0], ran]).toEqual(["unknown-decision", []]);
  });

  it.for<[what: string, decision: unknown]>([
    ["a result without a value", { kind: "result" }],
    ["a result with a BigInt", { kind: "result", result: [1n] }],
    ["a result whose value is inherited", Object.assign(Object.create({ result: 1 }), { kind: "result" })],
    ["a failure whose error is not a string", { kind: "failed", error: new Error("no") }],
  ])('are rejected as "invalid-option" if they contain %s', async ([, decision]) => {
    const answers = { call_1: decision } as Decisions;
    const { result } = play([text("Hi.")], { answers });
    await expect(result).rejects.toThrow(
      /Option "answers.call_1" is .*, but must be an object whose "kind" is approve, deny, modify/,
    );
  });
});

it("options.answers are rejected if they contain a result for a call waiting for an approval", async () => {
  const tools = [tool("pay", () => "paid", { needsApproval: true })];
  const first = play([toolCall("pay")], { runId: "r", tools });
  const answers: Decisions = { call_i0_0: { kind: "result", result: 1 } };
  const second = play([text("Done.")], { runId: "r", tools, journal: await savedOf(first), answers });
  expect(await refusalOf(second)).toEqual([
    "invalid-decision",
    `The decision about call "call_i0_0" is "result". ${approvalAdvice}`,
  ]);
});

describe("outputSchema", () => {
  const own = { name: "ask", description: "Asks", inputSchema: { type: "object" } } as const;
  const strings = defineTool({ ...own, outputSchema: fromJsonSchema({ type: "string" }) });
  const slow = defineTool({
    ...own,
    outputSchema: z.string().refine(async () => Promise.resolve(false), "is not known"),
  });
  const never = defineTool({ ...own, outputSchema: z.string().refine(() => new Promise<boolean>(() => {})) });

  it.for<[how: string, tools: NonNullable<LoopOptions["tools"]>, name: string]>([
    ["an array", [strings], "ask"],
    ["mergeRegistries", mergeRegistries([tool("other", () => 1)], [strings]), "ask"],
    ["withPrefix", withPrefix([strings], "user_"), "user_ask"],
    ["withFilter", withFilter([strings], ["ask"]), "ask"],
    ["withValidation", withValidation(createToolRegistry([strings])), "ask"],
  ])("validates results for tools from %s", async ([, tools, name]) => {
    const first = play([toolCall(name)], { runId: "r", tools });
    const journal = await savedOf(first);
    const start = (result: number | string): Playing =>
      play([text("Done.")], { runId: "r", tools, journal, answers: { call_i0_0: { kind: "result", result } } });
    expect((await refusalOf(start(7)))[1]).toContain("outputSchema");
    expect((await start("blue").result).reason.kind).toBe("answered");
  });

  it("can be asynchronous, but must settle within timeouts.callbackMs", async () => {
    const answers: Decisions = { call_i0_0: { kind: "result", result: "blue" } };
    for (const [one, message] of [
      [slow, "is not known"],
      [never, "could not be checked: The hook took longer than 50 ms."],
    ] as const) {
      const first = play([toolCall("ask")], { runId: "r", tools: [one] });
      const journal = await savedOf(first);
      const second = play([text("Done.")], { runId: "r", tools: [one], journal, answers, timeouts: { callbackMs: 50 } });
      const refused = refusalOf(second);
      await second.clock.advance(50);
      expect((await refused)[1]).toContain(message);
      expect(second.clock.pending).toBe(0);
    }
  });

  it.each<{ name: string; returned: unknown }>([
    { name: "undefined", returned: undefined },
    { name: "an empty object", returned: {} },
    { name: "text", returned: "valid" },
    { name: "a promise of null", returned: Promise.resolve(null) },
  ])("rejects every result if its validator returns $name", async ({ returned }) => {
    const broken = {
      "~standard": { version: 1, vendor: "own", validate: () => returned },
    } as unknown as typeof strings.outputSchema;
    const tools = [defineTool({ ...own, outputSchema: broken })];
    const journal = await savedOf(play([toolCall("ask")], { runId: "r", tools }));
    const answers: Decisions = { call_i0_0: { kind: "result", result: "blue" } };
    expect((await refusalOf(play([text("Done.")], { runId: "r", tools, journal, answers })))[1]).toContain(
      "could not be checked",
    );
  });

  it("does not validate failures or values that execute returns", async () => {
    const tools = [defineTool({ ...own, name: "direct", outputSchema: z.string(), execute: () => 7 }), strings];
    const first = play([[toolCall("direct"), toolCall("ask")]], { runId: "r", tools });
    const answers: Decisions = { call_i0_1: { kind: "failed", error: "gone" } };
    const second = play([text("Done.")], { runId: "r", tools, journal: await savedOf(first), answers });
    expect(outcomesOf(await second.result)).toEqual(["call_i0_0: completed", "call_i0_1: failed"]);
  });
});

describe("defer", () => {
  const failing = (traits: Partial<ToolTraits>): ReturnType<typeof tool> => tool("job", () => defer(), traits);

  it.each<{ name: string; returns: (deferral: unknown) => unknown }>([
    { name: "inside an object", returns: (deferral) => ({ status: "started", result: deferral }) },
    { name: "inside an array", returns: (deferral) => [deferral] },
    { name: "as the data of toolResult", returns: (data) => toolResult({ data }) },
  ])("fails the call if the tool returns the value of defer() $name", async ({ returns }) => {
    const nested = tool("job", () => returns(defer()));
    const { result } = play([toolCall("job"), text("Done.")], { tools: [nested] });
    expect((await result).functionHistory[0]?.functionResponse.response.result).toMatchObject({
      status: "tool_execution_failed",
      reason: "The tool's result cannot be written as JSON: it contains the value of defer(), which the tool must return alone.",
    });
  });

  it("with fromPage: true, lets a web page send the result", async () => {
    const tools = [tool("job", () => defer({ fromPage: true }))];
    const first = play([toolCall("job")], { runId: "r", tools });
    const answers: Decisions = { call_i0_0: { kind: "result", result: 7, fromPage: true } };
    const last = await play([text("Done.")], { runId: "r", tools, journal: await savedOf(first), answers }).result;
    expect(answersOf(last)).toMatchObject([{ outcome: "completed", result: 7 }]);
    expect((await first.result).reason).toMatchObject({ calls: [{ waitsFor: "result", fromPage: true }] });
  });

  it("fails the call if the tool is eager", async () => {
    const { result } = play([toolCall("job"), text("Done.")], { tools: [failing({ eager: true })], middleware: [eagerTools()] });
    expect((await result).functionHistory[0]?.functionResponse.response.result).toMatchObject({
      status: "tool_execution_failed",
      reason: 'The tool "job" cannot defer its result because it has "eager". Remove "eager" from the tool.',
    });
  });

  it("fails the call if the call belongs to a run inside an ordinary tool", async () => {
    const results: unknown[] = [];
    const outer = tool("outer", async (_, context) => {
      const provider = createMockProvider([toolCall("job"), text("Inside.")]);
      const inside = await runNested(context, { provider, messages: [{ role: "user", content: "In." }], tools: [failing({})] });
      results.push(inside.functionHistory[0]?.functionResponse.response.result);
      return inside.text;
    });
    const { result } = play([toolCall("outer"), text("Done.")], { tools: [outer] });
    expect((await result).reason.kind).toBe("answered");
    expect(results).toEqual([
      expect.objectContaining({ reason: expect.stringContaining("Start that run with defineAgentTool") }),
    ]);
  });
});
