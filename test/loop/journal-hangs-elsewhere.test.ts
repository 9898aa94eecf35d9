import { describe, expect, it } from "vitest";
import {
  createLoopControl,
  defineAgentTool,
  isLoopError,
  type Journal,
  memoryJournal,
  type Step,
  runToolLoop,
  streamToolLoop,
} from "turnwright";
import { replayJournal } from "turnwright/journal";
import { createMockProvider, createTestClock, text, toolCall } from "turnwright/testing";
import { never, play, type Playing, tool } from "./play.ts";

import { echo, hanging, start } from "./hanging-journal.ts";

const inner = [{ role: "user" as const, content: "Inside." }];

describe("a journal that hangs or fails", () => {
  const agent = defineAgentTool({
    name: "agent",
    description: "",
    inputSchema: { type: "object" },
    prepare: () => ({ messages: inner }),
    toResult: ({ text: said }) => said,
  });

  it("rejects the outer run after a kill if the journal hangs in a nested run", async () => {
    const script = [toolCall("agent"), text("Inside."), text("Done.")];
    for (const at of ["i0/agent/0/agent", "i0/tool/0/agent/i0/inbox", "i0/tool/0/agent/i0/model", "i0/tool/0/agent"]) {
      const playing = play(script, { runId: "outer", tools: [agent], journal: hanging({ at }) });
      playing.result.catch(() => {});
      await playing.clock.advance(10);
      playing.control.kill();
      await playing.clock.advance(500);
      await expect(playing.result).rejects.toMatchObject({
        code: "journal-unresponsive",
        details: { ended: "kill", partial: { runId: "outer" } },
      });
      expect([playing.clock.pending, playing.provider.active]).toEqual([0, 0]);
    }
  });

  it("rejects the outer run and releases a waiting nested run if a step throws", async () => {
    const kept = memoryJournal();
    const clock = createTestClock();
    const asking = defineAgentTool<{ readonly asks: boolean }>({
      name: "agent",
      description: "",
      inputSchema: { type: "object" },
      prepare: ({ asks }) => ({
        messages: inner,
        provider: createMockProvider(asks ? [toolCall("echo")] : [text("In.")]),
        tools: [echo],
        policies: { approve: () => ({ kind: "ask" }) },
      }),
    });
    const run = (isBroken: boolean): Playing => {
      const step = async <T>(one: Step<T>): Promise<T> => {
        if (!isBroken || one.key !== "i0/tool/1/agent/i0/model") return kept.step(one);
        // After 100 ms, the second nested run is waiting for its approval.
        await new Promise<void>((resolve) => void clock.setTimeout(resolve, 100));
        throw new Error("The disk is full.");
      };
      const journal: Journal = { durable: true, step, all: (steps) => Promise.all(steps.map((one) => step(one))) };
      const script = [[toolCall("agent", { asks: true }), toolCall("agent", { asks: false })], text("Done.")];
      return play(script, { runId: "outer", tools: [asking], journal, clock });
    };
    const { result } = run(true);
    result.catch(() => {});
    await clock.advance(1_000);
    await expect(result).rejects.toThrow("The disk is full.");
    expect(clock.pending).toBe(0);
    const { reason } = await run(false).result;
    expect(reason).toMatchObject({ kind: "approval-required", calls: [{ id: "call_i0_0/call_i0_0" }] });
  });

  it("fails only the tool call if the journal belongs to a run inside the tool", async () => {
    const nest = tool("nest", async (_, context) => {
      const { text: said } = await context.runToolLoop({
        messages: inner,
        runId: "inside",
        journal: hanging({ at: "i0/model" }),
      });
      return said;
    });
    const playing = play([toolCall("nest"), text("Done.")], { tools: [nest] });
    await playing.clock.advance(60_000);
    const result = await playing.result;
    expect(result.text).toBe("Done.");
    expect(JSON.stringify(result.messages)).toContain("The journal did not answer");
    expect(playing.clock.pending).toBe(0);
  });

  it("rejects the result of streamToolLoop, whether the reader continues or stops", async () => {
    for (const leaves of [false, true]) {
      const clock = createTestClock();
      const journal = hanging({ at: "i0/model", when: "after" });
      const provider = createMockProvider([[text("Look: "), toolCall("echo")], text("Done.")]);
      const messages = [{ role: "user" as const, content: "Go." }];
      const stream = streamToolLoop({ provider, messages, tools: [echo], journal, clock, runId: "read" });
      const read = async (): Promise<void> => {
        for await (const { type } of stream) if (leaves && type === "text-delta") return;
      };
      const reading = read().then(
        () => "left",
        (error: unknown) => error,
      );
      await clock.advance(leaves ? 5_000 : 60_000);
      const said: unknown = await stream.result.catch((error: unknown) => error);
      expect(isLoopError(said, "journal-unresponsive") && said.details.ended).toBe(leaves ? "stop" : undefined);
      expect(await reading).toBe(leaves ? "left" : said);
      expect(clock.pending).toBe(0);
    }
  });

  it("rejects a replay if replays() never settles", async () => {
    const failed = await play([]).result;
    const journal = memoryJournal(JSON.parse(JSON.stringify(failed.journal)));
    const asked: string[] = [];
    const replays = (key: string): Promise<boolean> => (asked.push(key), never);
    const playing = play([], { journal: { ...replayJournal(journal), replays }, resume: "retry-last" });
    playing.result.catch(() => {});
    await playing.clock.advance(60_000);
    await expect(playing.result).rejects.toMatchObject({ details: { verb: "replays", key: asked[0] } });
  });

  it('rejects the run as "journal-incomplete" if replays() returns true for a missing record', async () => {
    const { result, provider } = play([text("Hi.")], { journal: { ...memoryJournal(), replays: () => true } });
    await expect(result).rejects.toMatchObject({ code: "journal-incomplete", details: { key: "run" } });
    expect(provider.calls).toBe(0);
  });

  it("can hang in wait() without a time limit, until a kill ends the run", async () => {
    const journal: Journal = { ...hanging({ at: "nowhere" }), wait: () => never };
    const playing = start(journal, { policies: { approve: () => ({ kind: "ask" }) } });
    await playing.clock.advance(86_400_000);
    expect(playing.endedAt()).toBeUndefined();
    playing.control.kill();
    expect((await playing.result).reason).toEqual({ kind: "killed" });
    expect(playing.clock.pending).toBe(0);
  });
});

describe("a journal with invalid answers", () => {
  it.for<[what: string, journal: Partial<Journal>, message: string]>([
    [
      "open() resolves without a close function",
      { open: () => Promise.resolve(undefined as never) },
      'Option "journal.open()" must be a promise of the function',
    ],
    ["step() returns undefined", { step: () => undefined as never }, 'recorded result of step "run", but returned undefined'],
    [
      "step() resolves with a number",
      { step: () => Promise.resolve(7 as never) },
      'recorded result of step "run", but returned 7',
    ],
    ["all() returns an object", { all: () => ({}) as never }, 'recorded result of "all" with 2 steps, but returned an object'],
    ["all() returns null for each step", { all: (steps) => steps.map(() => null as never) }, "but returned null"],
  ])("rejects the run and releases everything if %s", async ([, more, message]) => {
    const { clock, result, provider, control } = start({ ...hanging({ at: "nowhere" }), ...more });
    await expect(result).rejects.toThrow(message);
    expect([clock.pending, provider.active, control.stop()]).toEqual([0, 0, "finished"]);
    const options = { provider: createMockProvider([text("Hi.")]), messages: inner, runId: "hangs" };
    expect((await runToolLoop({ ...options, control: createLoopControl() })).text).toBe("Hi.");
  });
});
