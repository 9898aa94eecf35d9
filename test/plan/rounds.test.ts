import { describe, expect, it } from "vitest";
import {
  approve,
  FatalToolError,
  finalAnswer,
  gateTools,
  maskResults,
  type Message,
  type Middleware,
  runToolLoop,
} from "turnwright";
import { planLogs, withPlanner } from "turnwright/middleware";
import { createMockProvider, finish, type MockMessage, providerMetadata, reasoning, text, usage } from "turnwright/testing";
import { outcomesOf, play, tool } from "../loop/play.ts";
import { add, asksForPlan, command, execute, plan, respond, shownTo } from "./plan-stage.ts";

const sum = (a: number, b: number, purpose = `${a} and ${b}`): object => command("add", { purpose, tool_kwargs: { a, b } });
const record = (purpose: string, more: object): object => ({
  purpose,
  tool_name: "add",
  todo_suggestion: "",
  next: "",
  success: true,
  error: "",
  ...more,
});
const one = record("1 and 2", { kwargs: { a: 1, b: 2 }, result: 3 });
const two = record("3 and 3", { kwargs: { a: 3, b: 3 }, result: 6 });
const three = record("6 and 1", { kwargs: { a: 6, b: 1 }, result: 7 });

describe("withPlanner", () => {
  it("sends all records, and separately the records of the last round, in the planning request", async () => {
    const script = [execute(sum(1, 2)), execute(sum(3, 3)), execute(sum(6, 1)), respond, text("Seven.")];
    const { result, model, recording } = plan(script);
    const { text: said, iterations } = await result;
    expect([said, iterations, model.calls]).toEqual(["Seven.", 4, 5]);
    expect(model.requests.slice(0, 4).map(shownTo)).toMatchObject([
      { user_input: "Go.", done_plans: [], last_round_records: [], round_index: 0, max_rounds: 5 },
      { user_input: "Go.", done_plans: [one], last_round_records: [one], round_index: 1 },
      { user_input: "Go.", done_plans: [one, two], last_round_records: [two], round_index: 2 },
      { user_input: "Go.", done_plans: [one, two, three], last_round_records: [three], round_index: 3 },
    ]);
    expect(recording.of("text-delta").map((event) => event.text)).toEqual(["Seven."]);
    expect(planLogs(await result)).toEqual([one, two, three]);
  });

  it("keeps records that are identical to earlier records", async () => {
    const { result, model } = plan([execute(sum(1, 2), sum(1, 2)), execute(sum(1, 2)), respond, text("Three.")]);
    expect(planLogs(await result)).toEqual([one, one, one]);
    expect(shownTo(model.requests[3])).toMatchObject({
      action_results: { "1 and 2": 3, "1 and 2 (2)": 3, "1 and 2 (3)": 3 },
      extra_instruction: expect.stringContaining("action_results"),
    });
  });

  it("counts rounds from 0 in a follow-up run", async () => {
    const first = await plan([execute(sum(1, 2)), respond, text("Three.")], {}, { maxRounds: 2 }).result;
    const messages: readonly Message[] = [...first.messages, { role: "user", content: "And 3 and 3?" }];
    const { result, model } = plan([execute(sum(3, 3)), execute(sum(6, 1)), text("Seven.")], { messages }, { maxRounds: 2 });
    expect((await result).text).toBe("Seven.");
    expect(model.requests.slice(0, 2).map(shownTo)).toMatchObject([
      { user_input: "And 3 and 3?", done_plans: [], last_round_records: [], round_index: 0 },
      { done_plans: [two], last_round_records: [two], round_index: 1 },
    ]);
    expect(planLogs(await result)).toEqual([two, three]);
    const { messages: sent = [] } = model.requests[0] ?? {};
    expect(sent.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
    expect(sent[0]).toEqual({
      role: "user",
      content: `Go.\n\n${JSON.stringify({ action_results: { "1 and 2": 3 } }, undefined, 2)}`,
    });
    expect(sent[2]).toMatchObject({ content: expect.stringMatching(/^And 3 and 3\?\n\n\{/) });
  });

  it("ignores an earlier run's records if the first iteration adds no message", async () => {
    const first = await plan([execute(sum(1, 2))], { limits: { maxIterations: 1 } }).result;
    const messages: readonly Message[] = [...first.messages, { role: "user", content: "Again." }];
    const { result } = plan(() => text("no plan"), { messages });
    expect([(await result).reason.kind, planLogs(await result)]).toEqual(["provider-error", []]);
  });

  it("ignores an earlier run's records if several iterations add no message", async () => {
    const first = await plan([execute(sum(1, 2)), respond, text("Three.")]).result;
    const messages: readonly Message[] = [...first.messages, { role: "user", content: "Again." }];
    const script = (_: unknown, index: number): MockMessage => {
      if (index % 2 === 0) return index < 4 ? respond : text("no plan");
      playing.control.steer(`Hm ${index}.`);
      return text("");
    };
    const playing = plan(script, { messages }, { planRetries: 0 });
    await playing.result;
    const shown = playing.model.requests.filter((_, index) => index % 2 === 0).map(shownTo);
    expect(shown).toMatchObject([
      { user_input: "Again.", done_plans: [], last_round_records: [], round_index: 0 },
      { user_input: "Again.\n\nHm 1.", done_plans: [], last_round_records: [], round_index: 0 },
      { user_input: "Again.\n\nHm 1.\n\nHm 3.", done_plans: [], last_round_records: [], round_index: 0 },
    ]);
  });

  it("sends complete records even if masking clears the tool results", async () => {
    const { result, model, recording } = plan([execute(sum(1, 2)), execute(sum(3, 3)), respond, text("Six.")], {
      middleware: [maskResults({ keepIterations: 1, minTokens: 1, batchOf: 1 })],
    });
    expect([(await result).text, recording.of("masked").length]).toEqual(["Six.", 1]);
    expect(shownTo(model.requests[2])).toMatchObject({ done_plans: [one, two], last_round_records: [two] });
    expect(shownTo(model.requests[3])).toMatchObject({ action_results: { "1 and 2": 3, "3 and 3": 6 } });
  });

  it("adds a steered message to user_input", async () => {
    const { control, result, model } = plan([execute(command("steer")), respond, text("Done.")], {
      tools: [tool("steer", () => void control.steer("In words, please."))],
    });
    await result;
    expect(shownTo(model.requests[1]).user_input).toBe("Go.\n\nIn words, please.");
  });

  it("judges a call's success by its outcome, whatever its text says", async () => {
    const tools = [
      tool("liar", () => "Error: all is well"),
      tool("broken", () => Promise.reject(new Error("out of order"))),
      tool("picky", () => 1, { inputSchema: { type: "object", required: ["x"] } }),
      tool("secret", () => 1),
    ];
    const middleware: readonly Middleware[] = [
      approve(({ name }) => (name === "secret" ? { kind: "deny", reason: "Not today." } : { kind: "approve" })),
    ];
    const commands = ["liar", "broken", "nope", "secret"].map((name) => command(name));
    const { result } = plan([execute(...commands), respond, text("Done.")], { tools, middleware });
    expect(
      planLogs(await result).map(({ tool_name, success, result: gave, error }) => [tool_name, success, gave, error]),
    ).toEqual([
      ["liar", true, "Error: all is well", ""],
      ["broken", false, null, "out of order"],
      ["nope", false, null, 'There is no tool "nope".'],
      ["secret", false, null, "Not today."],
    ]);
  });

  it("keeps the records of finished tools after a FatalToolError", async () => {
    const tools = [add, tool("fatal", () => Promise.reject(new FatalToolError("The disk is gone.")))];
    const { result } = plan([execute(sum(1, 2)), execute(sum(3, 3), command("fatal"))], { tools });
    expect((await result).reason.kind).toBe("fatal-tool-error");
    expect(planLogs(await result)).toMatchObject([one, two, { tool_name: "fatal", success: false, error: "The disk is gone." }]);
  });

  it("respects limits.maxIterations, finalAnswer and gateTools", async () => {
    const { result, model } = plan((_, index) => (index === 2 ? text("In short, three.") : execute(sum(1, 2))), {
      limits: { maxIterations: 2 },
      middleware: [finalAnswer()],
    });
    const { reason, finalAnswer: hasFinalAnswer, text: said } = await result;
    expect([reason.kind, hasFinalAnswer, said, model.calls]).toEqual(["max-iterations", true, "In short, three.", 3]);
    const gated = plan([execute(sum(1, 2)), respond, text("Done.")], {
      middleware: [gateTools({ active: true, allowedNames: ["look"] })],
    });
    expect(outcomesOf(await gated.result)).toEqual(["call_i0_0: blocked"]);
  });

  it("adds up the usage of the plan and the answer", async () => {
    const spent = usage({ inputTokens: 10, outputTokens: 2 });
    const { result, recording } = plan(
      [
        [reasoning("Tools?"), execute(sum(1, 2)), spent],
        [respond, spent],
        [reasoning("Three."), text("3"), spent],
      ],
      { pricing: ({ totalTokens }) => totalTokens / 100 },
      { closesEarly: false },
    );
    const { usage: used, costUSD, streamResults } = await result;
    expect([used.totalTokens, costUSD]).toEqual([36, 0.36]);
    expect(streamResults.map((iteration) => iteration.usage?.totalTokens)).toEqual([12, 24]);
    expect(recording.of("reasoning-delta").map((event) => event.text)).toEqual(["Tools?", "Three."]);
  });

  it("continues a paused answer without requesting another plan", async () => {
    const script = [
      execute(sum(1, 2)),
      respond,
      [text("Half, "), providerMetadata({ mark: 1 }), finish("paused")],
      [text("whole.")],
    ];
    const { result, model } = plan(script);
    expect([(await result).text, model.calls]).toEqual(["Half, whole.", 4]);
    const { messages = [] } = model.requests[3] ?? {};
    expect(messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
    expect(messages.at(-1)).toMatchObject({ providerMetadata: [{ item: { mark: 1 } }] });
  });

  it("passes requests through unchanged if enabled is false", async () => {
    const model = createMockProvider([text("Plain.")]);
    const { result } = play([], { provider: withPlanner(model, { enabled: false }), tools: [add] });
    expect([(await result).text, model.requests[0]?.tools.map(({ name }) => name)]).toEqual(["Plain.", ["add"]]);
  });
});

it("withPlanner: one instance serves concurrent runs", async () => {
  const model = createMockProvider((request) => {
    if (!asksForPlan(request)) return text("Done.");
    return shownTo(request).round_index === 0 ? execute(sum(1, 2)) : respond;
  });
  const provider = withPlanner(model);
  const run = (content: string): ReturnType<typeof runToolLoop> =>
    runToolLoop({ provider, tools: [add], messages: [{ role: "user", content }] });
  const results = await Promise.all(["a", "b", "c"].map(run));
  expect(results.map((result) => [result.text, planLogs(result).length])).toEqual(Array.from({ length: 3 }, () => ["Done.", 1]));
});
