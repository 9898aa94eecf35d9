import { describe, expect, it } from "vitest";
import { approve, FatalToolError, type Journal, type LoopOptions, type LoopResult, type Middleware, type Tool } from "turnwright";
import { replayJournal } from "turnwright/journal";
import { createMockProvider, type MockProvider, text, toolCall } from "turnwright/testing";
import { createDurableStore } from "../durable-store.ts";
import { never, outcomesOf, play, type Playing, tool } from "../play.ts";
import { nesting, question } from "./nesting.ts";

interface Stage {
  readonly ran: string[];
  readonly providers: readonly MockProvider[];
  start(more: Partial<LoopOptions>): Playing;
}

function setUp(levels: number, other: () => unknown): Stage {
  const ran: string[] = [];
  const providers: MockProvider[] = [];
  let inside: Tool = tool("pay", () => void ran.push("pay"));
  for (let level = 0; level < levels; level += 1) {
    const { name } = inside;
    const innermost = inside;
    const provider = createMockProvider(({ messages }) => (messages.length === 1 ? toolCall(name) : text("Inside.")));
    providers.push(provider);
    const middleware: readonly Middleware[] = [approve((call) => ({ kind: call.name === "pay" ? "ask" : "approve" }))];
    inside = nesting("agent tool", `agent${level}`, () => ({ messages: question, provider, tools: [innermost], middleware }));
  }
  const { name } = inside;
  const outer = createMockProvider(({ messages }) =>
    messages.length === 1 ? [toolCall(name), toolCall("other")] : text("Done."),
  );
  providers.push(outer);
  const tools = [inside, tool("other", other)];
  const start = (more: Partial<LoopOptions>): Playing =>
    play([], { runId: "r", provider: outer, tools, timeouts: { toolCleanupMs: 0 }, ...more });
  return { ran, providers, start };
}

const decisionFor = (levels: number): LoopOptions["answers"] => ({
  [Array.from({ length: levels + 1 }, () => "call_i0_0").join("/")]: { kind: "approve" },
});

async function checkOver({ start, ran, providers }: Stage, ended: LoopResult, open: () => Journal): Promise<void> {
  const asked = providers.map(({ calls }) => calls);
  for (const journal of [open(), replayJournal(open())]) {
    const again = await start({ journal }).result;
    expect([again.reason, again.messages, again.usage]).toEqual([ended.reason, ended.messages, ended.usage]);
  }
  const answers = decisionFor(providers.length - 1);
  const late: unknown = await start({ journal: open(), answers, resume: "retry-last" }).result.catch((error: unknown) => error);
  expect(late).toMatchObject({ code: "unknown-decision" });
  expect([ran, providers.map(({ calls }) => calls)]).toEqual([[], asked]);
}

const ends: readonly [verb: string, end: (playing: Playing) => void, kind: string][] = [
  ["stopped", ({ control }) => control.stop(), "stopped"],
  ["killed", ({ control }) => control.kill(), "killed"],
  ["aborted", ({ abort }) => abort.abort(), "aborted"],
];

describe.for([1, 2])("a call waiting for approval at nesting level %i", (levels) => {
  it.for(ends)("never runs if the outer run is %s during another call", async ([, end, kind]) => {
    const stage = setUp(levels, () => never);
    const store = createDurableStore();
    const playing = stage.start({ journal: store.open() });
    await playing.clock.flush();
    end(playing);
    const result = await playing.result;
    expect([result.reason.kind, outcomesOf(result)]).toEqual([kind, ["call_i0_0: interrupted", "call_i0_1: interrupted"]]);
    const ended = playing.recording.of("tool-end").filter((event) => event.callId === "call_i0_0" && event.name === "agent0");
    expect([ended.length <= 1, playing.clock.pending]).toEqual([true, 0]);
    // The innermost run waits, so it has ended as suspended. A run between them may still be on its way.
    const statuses = playing.recording.of("run-end").map(({ status }) => status);
    expect([statuses.length, statuses[0], statuses.at(-1)]).toEqual([levels + 1, "suspended", "stopped-by-user"]);
    await checkOver(stage, result, () => store.open());
  });

  it("never runs if another call in the outer run throws a FatalToolError", async () => {
    const stage = setUp(levels, () => {
      throw new FatalToolError("No.");
    });
    const store = createDurableStore();
    const result = await stage.start({ journal: store.open() }).result;
    expect([result.reason.kind, outcomesOf(result).at(-1)]).toEqual(["fatal-tool-error", "call_i0_1: failed"]);
    await checkOver(stage, result, () => store.open());
  });

  it("never runs if the outer run's journal fails", async () => {
    const stage = setUp(levels, () => 1);
    const inner = createDurableStore().open();
    const broken = new Error("The disk is full.");
    const step: Journal["step"] = (key, body) =>
      key === "i0/call/1/other/outcome" ? Promise.reject(broken) : inner.step(key, body);
    const playing = stage.start({ journal: { ...inner, step } });
    await expect(playing.result).rejects.toBe(broken);
    await playing.clock.flush();
    expect([playing.clock.pending, stage.ran]).toEqual([0, []]);
    const again = await stage.start({ journal: createDurableStore().open() }).result;
    expect(again.reason.kind).toBe("approval-required");
  });

  it("runs after its decision if nothing ends the outer run", async () => {
    const stage = setUp(levels, () => 1);
    const store = createDurableStore();
    const first = await stage.start({ journal: store.open() }).result;
    expect([first.reason.kind, outcomesOf(first)]).toEqual([
      "approval-required",
      ["call_i0_0: awaiting-approval", "call_i0_1: completed"],
    ]);
    expect((await stage.start({ journal: store.open(), answers: decisionFor(levels) }).result).text).toBe("Done.");
    expect(stage.ran).toEqual(["pay"]);
  });
});
