import { describe, expect, it } from "vitest";
import {
  approve,
  createLoopControl,
  defineAgentTool,
  isLoopError,
  type Journal,
  memoryJournal,
  runToolLoop,
  streamToolLoop,
  runNested,
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

  it("makes the outer run reject after a kill if it hangs in a nested run", async () => {
    const script = [toolCall("agent"), text("Inside."), text("Done.")];
    for (const at of [
      "i0/call/0/agent/begun",
      "i0/call/0/agent/tool/run/begin",
      "i0/call/0/agent/tool/run/i0/request/model",
      "i0/call/0/agent/outcome",
    ]) {
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

  it("makes the outer run reject, and releases a waiting nested run, if a step throws", async () => {
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
        middleware: [approve(() => ({ kind: "ask" }))],
      }),
    });
    const run = (isBroken: boolean): Playing => {
      const step = async <T>(key: string, body: () => T | PromiseLike<T>): Promise<T> => {
        if (!isBroken || key !== "i0/call/1/agent/tool/run/i0/request/model") return kept.step(key, body);
        // After 100 ms, the second nested run is waiting for its approval.
        await new Promise<void>((resolve) => void clock.setTimeout(resolve, 100));
        throw new Error("The disk is full.");
      };
      const journal: Journal = { ...kept, durable: true, step };
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
      const { text: said } = await runNested(context, {
        messages: inner,
        runId: "inside",
        journal: hanging({ at: "i0/request/model" }),
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

  it("makes the result of streamToolLoop reject, whether the reader continues or stops", async () => {
    for (const leaves of [false, true]) {
      const clock = createTestClock();
      const journal = hanging({ at: "i0/request/model", when: "after" });
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

  it("makes a replay reject if read() never settles", async () => {
    const failed = await play([]).result;
    const journal = memoryJournal(JSON.parse(JSON.stringify(failed.journal)));
    const asked: string[] = [];
    const read = (key: string): Promise<unknown> => (asked.push(key), never);
    const playing = play([], { journal: { ...replayJournal(journal), read }, resume: "retry-last" });
    playing.result.catch(() => {});
    await playing.clock.advance(60_000);
    await expect(playing.result).rejects.toMatchObject({ details: { verb: "read", key: asked[0] } });
  });
});

describe("a journal that returns invalid values", () => {
  it.for<[what: string, journal: Partial<Journal>, message: string | RegExp]>([
    [
      "open() resolves without a close function",
      { open: () => Promise.resolve(undefined as never) },
      /Option "journal.open\(\)" is .*, but must be a promise that resolves to a function/,
    ],
    ["step() returns undefined", { step: () => undefined as never }, 'recorded result of step "run", but returned undefined'],
    [
      "step() resolves with a number",
      { step: () => Promise.resolve(7 as never) },
      'recorded result of step "run", but returned 7',
    ],
  ])("makes the run reject, and releases everything, if %s", async ([, more, message]) => {
    const { clock, result, provider, control } = start({ ...hanging({ at: "nowhere" }), ...more });
    await expect(result).rejects.toThrow(message);
    expect([clock.pending, provider.active, control.stop()]).toEqual([0, 0, "finished"]);
    const options = { provider: createMockProvider([text("Hi.")]), messages: inner, runId: "hangs" };
    expect((await runToolLoop({ ...options, control: createLoopControl() })).text).toBe("Hi.");
  });
});
