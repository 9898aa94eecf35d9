import { describe, expect, it } from "vitest";
import { ask, createLoopControl, type Journal, type LoopControl, type LoopOptions, runToolLoop, type Tool } from "turnwright";
import { createMockProvider, createTestClock, fail, type MockMessage, text, toolCall, wait } from "turnwright/testing";
import { createDurableStore } from "../durable-store.ts";
import { answersOf, tool } from "../play.ts";
import { nesting, plain, question } from "./nesting.ts";
import { createOrderedStore } from "./ordered-store.ts";

const ok = tool("ok", () => "fine");

/** The model chooses its message by the length of the transcript, so that it continues correctly in a new process. */
const model = (turns: readonly MockMessage[]) =>
  createMockProvider(({ messages }) => turns[messages.filter(({ role }) => role === "assistant").length]);

const agent = (name: string, turns: readonly MockMessage[], tools: readonly Tool[] = [ok]): Tool =>
  nesting("agent tool", name, () => ({ messages: question, provider: model(turns), tools }));

const optionsOf = (turns: readonly MockMessage[], tools: readonly Tool[]): Omit<LoopOptions, "journal"> => ({
  messages: question,
  provider: model(turns),
  tools,
  runId: "r",
  clock: createTestClock(),
});

describe("a journal with ordered steps", () => {
  it.for<[what: string, turns: readonly MockMessage[], inner: readonly MockMessage[]]>([
    ["answered", [[toolCall("child"), toolCall("child")], text("Done.")], [toolCall("ok"), text("c")]],
    ["failed", [[toolCall("child"), toolCall("child")], text("Done.")], [toolCall("ok"), fail({ status: 500 })]],
    ["was empty", [toolCall("child"), text("Done.")], [[]]],
  ])("receives the same steps again in a replay if the nested run %s", async ([, turns, inner]) => {
    const store = createOrderedStore();
    const options = optionsOf(turns, [agent("child", inner)]);
    const first = await runToolLoop({ ...options, journal: store.open() });
    const keys = [...store.keys];
    const again = await runToolLoop({ ...options, journal: store.open() });
    expect([plain(again), store.keys]).toEqual([plain(first), keys]);
  });
});

function failingOnce(at: string): { open(): Journal } {
  const store = createDurableStore();
  let failed = false;
  const open = (): Journal => {
    const journal = store.open();
    const step = <T>(key: string, body: () => T | PromiseLike<T>): PromiseLike<T> | T => {
      if (key !== at || failed) return journal.step(key, body);
      failed = true;
      return Promise.reject(new Error("The disk is full."));
    };
    return { ...journal, step };
  };
  return { open };
}

describe("a journal step that fails", () => {
  it.for([
    "i0/call/1/child/begun",
    "i0/call/1/child/tool/run/run",
    "i0/call/1/child/tool/run/i0/request/model",
    "i0/call/1/child/tool/run/i1/answered",
    "i0/call/1/child/outcome",
  ])("at the key %s makes the outer run reject, but the run can be resumed", async (at) => {
    const { open } = failingOnce(at);
    const options = optionsOf(
      [[toolCall("ok"), toolCall("child")], text("Done.")],
      [{ ...ok, replay: "safe" }, agent("child", [toolCall("ok"), text("c")])],
    );
    await expect(runToolLoop({ ...options, journal: open() })).rejects.toThrow("The disk is full.");
    const result = await runToolLoop({ ...options, journal: open() });
    expect([result.text, answersOf(result)[1]?.result]).toEqual(["Done.", "c"]);
  });

  it("next to a nested run makes the outer run reject, but the run can be resumed", async () => {
    const { open } = failingOnce("i0/call/0/ok/outcome");
    const clock = createTestClock();
    const child = agent("child", [[wait(10), toolCall("ok")], text("c")]);
    const options = {
      ...optionsOf([[toolCall("ok"), toolCall("child")], text("Done.")], [{ ...ok, replay: "safe" }, child]),
      clock,
    };
    await expect(runToolLoop({ ...options, journal: open() })).rejects.toThrow("The disk is full.");
    await clock.runAll();
    const running = runToolLoop({ ...options, journal: open() });
    await clock.runAll();
    expect(answersOf(await running)[1]?.result).toBe("c");
  });

  it.for(
    [
      "i0/call/0/outer/begun",
      "i0/call/0/outer/tool/run/run",
      "i0/call/0/outer/tool/run/i0/call/0/inner/begun",
      "i0/call/0/outer/tool/run/i0/call/0/inner/tool/run/begin",
      "i0/call/0/outer/tool/run/i0/call/0/inner/tool/run/i0/call/0/ok/outcome",
    ].flatMap((slow) => (["before", "after"] as const).map((when) => [slow, when] as const)),
  )("releases a nested run that waits at %s if the failure comes %s the step is written", async ([slow, when]) => {
    const store = createDurableStore();
    const clock = createTestClock();
    const controls = [createLoopControl(), createLoopControl()];
    const within = (name: string, control: LoopControl | undefined, inside: Tool): Tool =>
      nesting("agent tool", name, () => ({
        messages: question,
        control,
        provider: model([toolCall(inside.name), text(name)]),
        tools: [inside],
      }));
    const outer = within("outer", controls[0], within("inner", controls[1], { ...ok, replay: "safe" }));
    const options = {
      ...optionsOf([[toolCall("outer"), toolCall("quick")], text("Done.")], [outer, tool("quick", () => 1, { replay: "safe" })]),
      clock,
    };
    const pause = (ms: number): Promise<void> => new Promise((resolve) => void clock.setTimeout(resolve, ms));
    const journal = store.open();
    const step = async <T>(key: string, body: () => T | PromiseLike<T>): Promise<T> => {
      if (key === slow && when === "before") await pause(200);
      const answer = await journal.step(key, body);
      if (key === slow && when === "after") await pause(200);
      if (key !== "i0/call/1/quick/outcome") return answer;
      await pause(10);
      throw new Error("The connection is lost.");
    };
    const first = runToolLoop({
      ...options,
      journal: { ...journal, step },
    });
    first.catch(() => {});
    await clock.advance(10);
    await expect(first).rejects.toThrow("The connection is lost.");
    const again = runToolLoop({ ...options, journal: store.open() });
    await clock.runAll();
    expect(answersOf(await again).map(({ result }) => result)).toEqual(["outer", 1]);
    expect(answersOf(await runToolLoop({ ...options, journal: store.open() })).map(({ result }) => result)).toEqual(["outer", 1]);
    expect(clock.pending).toBe(0);
  });

  it("leaves no outcome for another call that the failure interrupted", async () => {
    const { open } = failingOnce("i0/call/1/ok/outcome");
    const clock = createTestClock();
    const slow = tool("slow", () => new Promise((resolve) => void clock.setTimeout(() => resolve("s"), 50)), { replay: "safe" });
    const options = {
      ...optionsOf([[toolCall("slow"), toolCall("ok")], text("Done.")], [slow, { ...ok, replay: "safe" }]),
      clock,
    };
    await expect(runToolLoop({ ...options, journal: open() })).rejects.toThrow("The disk is full.");
    await clock.runAll();
    const again = runToolLoop({ ...options, journal: open() });
    await clock.runAll();
    expect(answersOf(await again).map(({ result }) => result)).toEqual(["s", "fine"]);
  });
});

it("a run with a call that waits two levels deeper rejects after a journal failure, and can be resumed", async () => {
  const pay = tool("pay", () => "paid", { needsApproval: true });
  const middle = agent("middle", [toolCall("inner")], [agent("inner", [toolCall("pay")], [pay])]);
  const turn = tool("turn", () => new Promise<void>((resolve) => void setImmediate(resolve)));
  const slow = agent("slow", [toolCall("turn"), text("Slow.")], [turn]);
  const options = optionsOf([[toolCall("middle"), toolCall("slow")]], [middle, slow]);
  const store = createDurableStore();
  // Without the error of the journal, the run would spin forever.
  const failed = runToolLoop({ ...options, journal: store.open({ within: "i0/call/1/slow/tool/run/i1/answered" }) });
  await expect(failed).rejects.toThrow("The process died.");
  const { reason } = await runToolLoop({ ...options, journal: store.open() });
  expect(reason).toMatchObject({ kind: "approval-required", calls: [{ id: "call_i0_0/call_i0_0/call_i0_0" }] });
});

it("a journal failure in one of two steps of a resumed nested run makes the run reject while the other step waits", async () => {
  const asks = tool("asks", async (_, context) => ask(context, { question: "Name?" }), { durable: true });
  const middle = agent(
    "middle",
    [toolCall("inner"), text("m")],
    [agent("inner", [[toolCall("asks"), toolCall("asks")], text("i")], [asks])],
  );
  const options = optionsOf([toolCall("middle"), text("Done.")], [middle]);
  const store = createDurableStore();
  const open = (failing?: string): Journal => {
    const journal = store.open();
    const step = async <T>(key: string, body: () => T | PromiseLike<T>): Promise<T> => {
      await Promise.resolve();
      if (failing !== undefined && key.includes(failing)) throw new Error("The disk is full.");
      return journal.step(key, body);
    };
    return { ...journal, step };
  };
  await runToolLoop({ ...options, journal: open() });
  const path = "call_i0_0/call_i0_0/call_i0_";
  const answers: LoopOptions["answers"] = {
    [`${path}0`]: { kind: "result", result: "Ann" },
    [`${path}1`]: { kind: "result", result: "Ann" },
  };
  const failed = runToolLoop({ ...options, answers, journal: open("wait/call_i0_0/call_i0_0/call_i0_0/1/answer") });
  await expect(failed).rejects.toThrow("The disk is full.");
  expect((await runToolLoop({ ...options, answers, journal: open() })).text).toBe("Done.");
});
