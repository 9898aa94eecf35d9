import { describe, expect, it } from "vitest";
import { type Clock, createLoopEvents, FatalToolError, memoryJournal, type Tool } from "turnwright";
import { createTestClock, text, toolCall, wait } from "turnwright/testing";
import { answersOf, never, outcomesOf, play, tool, type Playing } from "./play.ts";

function workshop(clock: Clock): { readonly tools: readonly Tool[]; readonly log: string[]; peak(): number } {
  const log: string[] = [];
  let running = 0;
  let peak = 0;
  const work = async (args: unknown): Promise<string> => {
    const { id, ms } = args as { readonly id: string; readonly ms: number };
    running += 1;
    peak = Math.max(peak, running);
    log.push(`+${id}`);
    await new Promise((resolve) => void clock.setTimeout(() => resolve(undefined), ms));
    log.push(`-${id}`);
    running -= 1;
    return id;
  };
  return { tools: [tool("work", work), tool("alone", work, { sequential: true })], log, peak: () => peak };
}

const call = (name: string, id: string, ms: number) => toolCall(name, { id, ms });

async function run(
  batch: readonly ReturnType<typeof call>[],
  toolConcurrency?: number,
): Promise<Playing & ReturnType<typeof workshop>> {
  const clock = createTestClock();
  const shop = workshop(clock);
  const playing = play([[...batch], text("Done.")], { clock, tools: shop.tools, limits: { toolConcurrency } });
  await clock.runAll();
  return { ...playing, ...shop };
}

describe("a batch of tool calls", () => {
  it.for<[count: number, limit: number | undefined, peak: number]>([
    [50, undefined, 10],
    [50, 1, 1],
    [50, 7, 7],
    [50, Number.POSITIVE_INFINITY, 50],
    [3, undefined, 3],
  ])("with %d calls and toolConcurrency: %s runs at most %d calls at a time", async ([count, limit, expected]) => {
    const batch = Array.from({ length: count }, (_, index) => call("work", `${index}`, 1 + ((index * 7) % 5)));
    const { peak, result } = await run(batch, limit);
    expect([peak(), answersOf(await result).map((part) => part.result)]).toEqual([expected, batch.map((_, index) => `${index}`)]);
  });

  const fourCalls = [call("work", "slow", 30), ...Array.from({ length: 3 }, (_, index) => call("work", `${index}`, 12))];

  it("starts the next call as soon as fewer than toolConcurrency calls are running", async () => {
    const { log, result } = await run([...fourCalls, call("work", "last", 10)], 2);
    expect(log).toEqual(["+slow", "+0", "-0", "+1", "-1", "+2", "-slow", "+last", "-2", "-last"]);
    expect(answersOf(await result).map((part) => part.result)).toEqual(["slow", "0", "1", "2", "last"]);
    expect((await result).durationMs).toBe(40);
  });

  it("lets control.stop() end the run even if the batch has more calls than toolConcurrency", async () => {
    const clock = createTestClock();
    const shop = workshop(clock);
    const batch = [call("work", "a", 10), call("work", "b", 10), call("work", "c", 10)];
    const script = [batch, [text("Wait"), wait(100), text("ing.")], text("Done.")];
    const { control, result } = play(script, { clock, tools: shop.tools, limits: { toolConcurrency: 2 } });
    await clock.advance(50);
    expect(shop.log).toEqual(["+a", "+b", "-a", "+c", "-b", "-c"]);
    expect([control.steer("Hey."), control.stop()]).toEqual(["accepted", "accepted"]);
    await clock.runAll();
    expect((await result).status).toBe("stopped-by-user");
  });

  it("does not start calls after a FatalToolError, but lets running calls finish", async () => {
    const clock = createTestClock();
    const shop = workshop(clock);
    const fatal = tool("fatal", () => {
      throw new FatalToolError("broken");
    });
    const batch = [call("work", "slow", 30), call("fatal", "f", 0), call("work", "a", 1), call("work", "b", 1)];
    const { result } = play([batch], { clock, tools: [...shop.tools, fatal], limits: { toolConcurrency: 2 } });
    await clock.runAll();
    expect(shop.log).toEqual(["+slow", "-slow"]);
    expect(outcomesOf(await result)).toEqual([
      "call_i0_0: completed",
      "call_i0_1: failed",
      "call_i0_2: not-run",
      "call_i0_3: not-run",
    ]);
  });

  it.each([true, false])("does not start calls after a recorded FatalToolError and a crash (durable: %s)", async (durable) => {
    const ran: string[] = [];
    const fatal = (): never => {
      throw new FatalToolError("broken");
    };
    const tools = [tool("fatal", fatal, { durable }), tool("act", () => ran.push("act"))];
    const journal = memoryJournal();
    const limits = { toolConcurrency: 1 };
    await play([[toolCall("fatal"), toolCall("act")]], { tools, limits, journal }).result;
    const steps = Object.entries(journal.toJSON().steps).filter(([key]) => !/act|next/.test(key));
    const saved = memoryJournal({ steps: Object.fromEntries(steps) });
    const again = await play([text("Done.")], { tools, limits, journal: saved }).result;
    expect([ran, outcomesOf(again), again.reason.kind]).toEqual([
      [],
      ["call_i0_0: failed", "call_i0_1: not-run"],
      "fatal-tool-error",
    ]);
  });

  it("ends after a FatalToolError from an inner call, even if the tool catches it", async () => {
    const fatal = tool("fatal", () => {
      throw new FatalToolError("broken");
    });
    const outer = tool("outer", (_, { call: inner }) => inner("fatal", {}).catch(() => "caught"), { durable: true });
    const tools = [fatal, outer, tool("act", () => "acted")];
    const { result } = play([[toolCall("outer"), toolCall("act")], text("Done.")], { tools, limits: { toolConcurrency: 1 } });
    const { messages, reason } = await result;
    expect([outcomesOf({ messages }), reason.kind]).toEqual([["call_i0_0: completed", "call_i0_1: not-run"], "fatal-tool-error"]);
  });

  it("runs only unfinished calls again after a crash", async () => {
    const clock = createTestClock();
    const shop = workshop(clock);
    const journal = memoryJournal();
    const options = { clock, tools: shop.tools, limits: { toolConcurrency: 2 }, runId: "window" };
    const first = play([[...fourCalls], text("Done.")], { ...options, journal });
    await clock.advance(15);
    expect(shop.log).toEqual(["+slow", "+0", "-0", "+1"]);
    const saved = JSON.parse(JSON.stringify(journal));
    first.control.kill();
    await clock.runAll();
    shop.log.length = 0;
    const second = play([text("Done.")], { ...options, journal: memoryJournal(saved) });
    await clock.runAll();
    expect(shop.log.filter((line) => line.startsWith("+"))).toEqual(["+slow", "+1", "+2"]);
    expect(answersOf(await second.result).map((part) => part.result)).toEqual(["slow", "0", "1", "2"]);
  });

  it("keeps results in call order, and emits tool-end in completion order", async () => {
    const playing = await run([call("work", "a", 30), call("work", "b", 10), call("work", "c", 20)]);
    const result = await playing.result;
    expect(answersOf(result).map((part) => part.result)).toEqual(["a", "b", "c"]);
    expect(result.functionHistory.map((entry) => entry.functionResponse.response.result)).toEqual(["a", "b", "c"]);
    expect(playing.recording.of("tool-start").map((event) => event.callId)).toEqual(["call_i0_0", "call_i0_1", "call_i0_2"]);
    expect(playing.recording.of("tool-end").map((event) => [event.result, event.durationMs])).toEqual([
      ["b", 10],
      ["c", 20],
      ["a", 30],
    ]);
    expect(playing.provider.requests[1]?.messages.at(-1)).toBe(result.messages[2]);
  });

  it.for<[limit: number | undefined, log: string]>([
    [undefined, "+a +b -b -a +c -c +d +e -e -d +f -f +g -g"],
    [2, "+a +b -b -a +c -c +d +e -e -d +f -f +g -g"],
    [1, "+a -a +b -b +c -c +d -d +e -e +f -f +g -g"],
  ])("runs sequential calls alone and other calls in parallel, with toolConcurrency %s", async ([limit, expected]) => {
    const batch = [
      call("work", "a", 20),
      call("work", "b", 10),
      call("alone", "c", 5),
      call("work", "d", 20),
      call("work", "e", 10),
      call("alone", "f", 5),
      call("alone", "g", 5),
    ];
    const { log } = await run(batch, limit);
    expect(log.join(" ")).toBe(expected);
  });

  it("runs every call even if some calls throw", async () => {
    const tools = [
      tool("fine", () => "fine"),
      tool("broken", () => {
        throw new Error("out of order");
      }),
      tool("rejects", () => Promise.reject(new TypeError("no such thing"))),
      tool("strange", () => Promise.reject("just text")),
    ];
    const { result } = play(
      [[toolCall("broken"), toolCall("fine"), toolCall("rejects"), toolCall("strange"), toolCall("fine")], text("Done.")],
      { tools },
    );
    expect(answersOf(await result).map((part) => part.result)).toEqual([
      { status: "tool_execution_failed", reason: "out of order", tool_name: "broken" },
      "fine",
      { status: "tool_execution_failed", reason: "no such thing", tool_name: "rejects" },
      { status: "tool_execution_failed", reason: "just text", tool_name: "strange" },
      "fine",
    ]);
  });

  it.for<[verb: string, act: (playing: Playing) => unknown, endedAt: number]>([
    ["control.stop()", ({ control }) => control.stop(), 5_100],
    ["control.kill()", ({ control }) => control.kill(), 100],
    ["an aborted signal", ({ abort }) => abort.abort(), 100],
  ])("keeps the results of finished calls if %s ends the run while a call hangs", async ([, act, endedAt]) => {
    const clock = createTestClock();
    const shop = workshop(clock);
    const tools = [...shop.tools, tool("stalls", () => never)];
    const batch = [
      call("work", "a", 20),
      toolCall("stalls"),
      call("work", "b", 90),
      call("work", "c", 110_000),
      call("alone", "d", 1),
    ];
    const playing = play([batch], { clock, tools });
    await clock.advance(100);
    act(playing);
    await clock.advance(10_000);
    const result = await playing.result;
    expect([outcomesOf(result).map((line) => line.split(" ")[1]), playing.endedAt()]).toEqual([
      ["completed", "interrupted", "completed", "interrupted", "not-run"],
      endedAt,
    ]);
    expect(result.functionHistory.map((entry) => entry.functionResponse.response.result)).toEqual(["a", "b"]);
    expect([result.toolCallsExecuted, playing.provider.calls]).toEqual([4, 1]);
  });

  it("drops the result of a tool that stops the run, and starts no more calls", async () => {
    let ran = 0;
    const playing = play([[toolCall("count"), toolCall("stopper"), toolCall("count")]], ({ control }) => ({
      tools: [tool("count", () => (ran += 1)), tool("stopper", () => (control.stop(), "dropped"))],
    }));
    const result = await playing.result;
    expect(outcomesOf(result)).toEqual(["call_i0_0: completed", "call_i0_1: interrupted", "call_i0_2: not-run"]);
    expect([ran, JSON.stringify(result.messages).includes("dropped")]).toEqual([1, false]);
  });

  it.for<[event: "tool-start" | "iteration-start" | "run-start", outcomes: readonly string[], requests: number]>([
    ["tool-start", ["call_i0_0: not-run", "call_i0_1: not-run"], 1],
    ["iteration-start", [], 0],
    ["run-start", [], 0],
  ])("starts no call if a listener for %s stops the run", async ([event, outcomes, requests]) => {
    let ran = 0;
    const playing = play([[toolCall("count"), toolCall("count")]], ({ control }) => {
      const events = createLoopEvents();
      events.on(event, () => void control.stop());
      return { events, tools: [tool("count", () => (ran += 1))] };
    });
    const result = await playing.result;
    expect([result.reason.kind, ran, playing.provider.calls]).toEqual(["stopped", 0, requests]);
    expect(outcomesOf(result)).toEqual(outcomes);
  });
});
