import { describe, expect, it } from "vitest";
import {
  approve,
  type Approve,
  createLoopControl,
  FatalToolError,
  type LoopControl,
  type LoopOptions,
  memoryJournal,
  type Tool,
  type ToolRegistry,
  eagerTools,
} from "turnwright";
import { fail, finish, type MockMessage, reasoning, text, toolCall, usage } from "turnwright/testing";
import { answersOf, tool } from "../loop/play.ts";
import { createLives, keepings, plainOf, playAgain } from "./keepings.ts";

const down = fail({ status: 503 });

describe.for(keepings)('resume: "retry-last" with %s', ([, make]) => {
  it("asks for approval of a new call even if another call at the same position was approved", async () => {
    const asked: unknown[] = [];
    const paid: unknown[] = [];
    let isDown = true;
    const pay = tool("pay", (args) => {
      paid.push(args);
      if (isDown) throw new FatalToolError("The bank is down.");
      return "paid";
    });
    const policy: Approve = ({ args }) => (asked.push(args), { kind: "ask" });
    const live = createLives(make(), [pay], { middleware: [approve(policy)] });
    await live([toolCall("pay", { amount: 1 }, { id: "c1" })]);
    const failed = await live([], { answers: { c1: { kind: "approve" } } });
    expect([failed.result.reason.kind, paid]).toEqual(["fatal-tool-error", [{ amount: 1 }]]);
    isDown = false;
    const next: MockMessage = toolCall("pay", { amount: 1_000_000 }, { id: "c2" });
    const { result } = await live([next], { resume: "retry-last" });
    expect([result.reason.kind, asked, paid]).toEqual([
      "approval-required",
      [{ amount: 1 }, { amount: 1_000_000 }],
      [{ amount: 1 }],
    ]);
    const last = await live([text("Done.")], { answers: { c2: { kind: "approve" } } });
    expect([last.result.text, paid]).toEqual(["Done.", [{ amount: 1 }, { amount: 1_000_000 }]]);
  });

  it("runs a new call even if another call at the same position was canceled", async () => {
    const ran: unknown[] = [];
    let isDown = true;
    const pay = tool("pay", (args) => (ran.push(args), "ok"));
    const db = tool("db", () => {
      if (isDown) throw new FatalToolError("down");
    });
    const policy: Approve = ({ name, args }) => ({
      kind: name === "pay" && JSON.stringify(args) === '{"n":1}' ? "ask" : "approve",
    });
    const live = createLives(make(), [pay, db], { middleware: [approve(policy)] });
    await live([[toolCall("pay", { n: 1 }), toolCall("db")]]);
    isDown = false;
    const { result } = await live([toolCall("pay", { n: 2 }), text("Done.")], { resume: "retry-last" });
    expect([result.text, ran]).toEqual(["Done.", [{ n: 2 }]]);
  });

  it("replays a recorded retry even if a limit is now higher", async () => {
    const bad = tool("bad", () => Promise.reject(new Error("no")));
    const live = createLives(make(), [bad, tool("note", () => 1)]);
    const strict = { limits: { maxConsecutiveToolErrors: 1 } };
    await live([toolCall("bad")], strict);
    const retried = await live([toolCall("note"), text("Retried.")], { ...strict, resume: "retry-last" });
    expect(retried.result.text).toBe("Retried.");
    const lax = { limits: { maxConsecutiveToolErrors: 9 } };
    for (const limits of [lax, strict]) {
      const { result, provider } = await live([text("Straight on.")], limits);
      expect([plainOf(result), provider.calls]).toEqual([plainOf(retried.result), 0]);
    }
  });

  it("retries a failed iteration even if maxIterations ended an earlier retry", async () => {
    const note = tool("note", () => 1);
    const live = createLives(make(), [note]);
    const low = { limits: { maxIterations: 1 } };
    const high = { limits: { maxIterations: 5 } };
    await live([toolCall("note")], low);
    await live([], { ...low, resume: "retry-last" });
    const failed = await live([down], high);
    const again = await live([], high);
    expect([failed.result.reason.kind, again.result.reason.kind, again.provider.calls]).toEqual([
      "provider-error",
      "provider-error",
      0,
    ]);
    const done = await live([text("Done.")], { ...high, resume: "retry-last" });
    expect([done.result.text, (await live([], high)).result.text]).toEqual(["Done.", "Done."]);
    expect((await live([], low)).result.text).toBe("Done.");
  });

  it('replays the second ending if an iteration ended twice with the reason "max-tokens"', async () => {
    const live = createLives(make(), []);
    const paused: MockMessage = [text("Half. "), finish("paused"), usage({ inputTokens: 9, outputTokens: 1 })];
    const low = { limits: { maxTokens: 10 } };
    const high = { limits: { maxTokens: 15 } };
    const first = await live([paused], low);
    expect(first.result.reason.kind).toBe("max-tokens");
    await live([], { ...low, resume: "retry-last" });
    const second = await live([paused], high);
    expect([second.result.reason.kind, second.result.usage.totalTokens]).toEqual(["max-tokens", 20]);
    const again = await live([], high);
    expect([plainOf(again.result), again.provider.calls]).toEqual([plainOf(second.result), 0]);
  });

  it.for<[string, (control: LoopControl, abort: AbortController) => void]>([
    ["an interrupt", (control) => control.interrupt("And now?")],
    ["a steered message", (control) => control.steer("Quick.")],
    ["a stop", (control) => control.stop()],
    ["a kill", (control) => control.kill()],
    ["a drain", (control) => control.drain()],
    ["an aborted signal", (_, abort) => abort.abort("gone")],
  ])("replays the recorded result despite %s", async ([, act]) => {
    const open = make();
    let charged = 0;
    const live = createLives(open, [tool("charge", () => (charged += 1))]);
    await live([down]);
    await live([[toolCall("charge"), usage({ inputTokens: 5, outputTokens: 1 })], down], { resume: "retry-last" });
    const { result } = await live([text("Charged.")], { resume: "retry-last" });
    expect([result.text, charged]).toEqual(["Charged.", 1]);
    const makeMore = (): Partial<LoopOptions> => {
      const control = createLoopControl();
      const abort = new AbortController();
      act(control, abort);
      return { control, signal: abort.signal };
    };
    const again = await live([], makeMore());
    expect(plainOf(again.result)).toEqual(plainOf(result));
    const replayed = await live([], { ...makeMore(), journal: playAgain(open) });
    expect(plainOf(replayed.result)).toEqual(plainOf(result));
    expect(charged).toBe(1);
  });

  it("does not retry a run after an earlier control.stop()", async () => {
    const live = createLives(make(), []);
    await live([down]);
    const control = createLoopControl();
    control.stop();
    const { result, provider } = await live([text("Late.")], { resume: "retry-last", control });
    expect([result.reason.kind, provider.calls]).toEqual(["provider-error", 0]);
    expect((await live([text("Done.")], { resume: "retry-last" })).result.text).toBe("Done.");
  });

  it("removes the failed iteration's assistant message completely", async () => {
    const live = createLives(make(), [tool("look", () => "found")]);
    const said: MockMessage = [reasoning("Hm."), text("Partial ans"), toolCall("look"), down];
    const first = await live([[text("Before. "), toolCall("look")], said]);
    expect([first.result.text, first.result.functionHistory.length]).toEqual(["Partial ans", 1]);
    const { result } = await live([[]], { resume: "retry-last" });
    expect([result.text, result.functionHistory.length, result.messages.length, result.iterations]).toEqual(["Before.", 1, 3, 2]);
    expect(result.streamResults.map((iteration) => iteration.text)).toEqual(["Before. ", "Partial ans", ""]);
  });

  it("keeps the assistant message and the result of an eager tool that has run", async () => {
    const ran: unknown[] = [];
    const look: Tool = tool("look", () => (ran.push(1), "found"), { eager: true });
    const open = make();
    const live = createLives(open, [look], { middleware: [eagerTools()] });
    const first = await live([[text("Looking. "), toolCall("look"), down]]);
    expect([first.result.reason.kind, ran.length]).toEqual(["provider-error", 1]);
    const { result, provider } = await live([text("Here.")], { resume: "retry-last" });
    expect(provider.requests.map(({ messages }) => messages.map(({ role }) => role))).toEqual([["user", "assistant", "tool"]]);
    expect([result.text, result.functionHistory.length, result.toolCallsExecuted, ran.length]).toEqual(["Here.", 1, 1, 1]);
    expect(result.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant"]);
    expect(plainOf((await live([], { journal: playAgain(open) })).result)).toEqual(plainOf(result));
  });
});

it("journal keys contain tool names with escaped slashes and percent signs", async () => {
  const names = ["a/1", "a", "pay/decision1", "x/i0/model", "100%", "a%2F1"];
  const tools: ToolRegistry = {
    definitions: () => names.map((name) => ({ name, description: name, inputSchema: { type: "object" } })),
    executeTool: (name) => name,
  };
  const journal = memoryJournal();
  const live = createLives(() => journal, [], { tools });
  const { result } = await live([names.map((name) => toolCall(name)), text("Done.")]);
  expect(answersOf(result).map((answer) => answer.result)).toEqual(names);
  expect(journal.keys().filter((key) => key.endsWith("/outcome"))).toMatchInlineSnapshot(`
    [
      "i0/call/0/a%2F1/outcome",
      "i0/call/1/a/outcome",
      "i0/call/2/pay%2Fdecision1/outcome",
      "i0/call/3/x%2Fi0%2Fmodel/outcome",
      "i0/call/4/100%25/outcome",
      "i0/call/5/a%252F1/outcome",
    ]
  `);
});
