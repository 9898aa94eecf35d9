import fc, { type Scheduler } from "fast-check";
import { describe, expect, it } from "vitest";
import { type Clock, isLoopError, type Journal, type LoopOptions, type LoopResult, type Provider, runToolLoop } from "turnwright";
import { createMockProvider, type MockMessage, text, toolCall } from "turnwright/testing";
import { createDurableStore, type DurableStore } from "./durable-store.ts";
import { never, outcomesOf, play, type Playing, tool } from "./play.ts";
import { linesOf, textsOf } from "./transcript-lines.ts";

function placesOf(said: string, { messages, undelivered, reason }: LoopResult): string {
  const places = [
    ...messages.flatMap((message) => (message.role === "user" ? textsOf([message]) : [])).map((sent) => [sent, "sent"]),
    ...textsOf(undelivered).map((back) => [back, "back"]),
    ...(reason.kind === "interrupted" ? textsOf([reason.message]) : []).map((taken) => [taken, "taken"]),
  ];
  return places.flatMap(([content, place]) => (content === said ? [place] : [])).join(" and ");
}

/** Lets a fast-check scheduler decide when chunks, tool results and journal answers arrive. */
interface Odds {
  readonly s: Scheduler;
  turn(what: string): Promise<void>;
  /** Creates a clock whose timers of up to 100 ms fire when the scheduler chooses them. Longer timers never fire. */
  clock(): Clock;
  journal(store?: DurableStore): Journal;
}

function createOdds(s: Scheduler): Odds {
  const turn = (what: string): Promise<void> => s.schedule(Promise.resolve(), what);
  const journal = (store = createDurableStore()): Journal => {
    const inner = store.open();
    return {
      ...inner,
      step: async (key, body) => {
        const answer = await inner.step(key, body);
        await turn(`journal ${key}`);
        return answer;
      },
    };
  };
  const clock = (): Clock => {
    let now = 0;
    const timers = new Set<unknown>();
    const setTimeout = (fire: () => void, ms: number): unknown => {
      const timer = { dueAt: now + ms };
      timers.add(timer);
      if (ms > 100) return timer;
      void turn(`timer of ${ms} ms`).then(() => {
        now = Math.max(now, timer.dueAt);
        if (timers.delete(timer)) fire();
      });
      return timer;
    };
    return { now: () => now, setTimeout, clearTimeout: (timer) => void timers.delete(timer) };
  };
  return { s, turn, clock, journal };
}

function atOdds(odds: Odds, script: readonly MockMessage[]): Provider {
  const mock = createMockProvider(script);
  return {
    id: mock.id,
    model: mock.model,
    async *stream(request, call) {
      for await (const chunk of mock.stream(request, call)) {
        await odds.turn(chunk.type);
        yield chunk;
      }
    },
  };
}

type Answer = string | undefined | void;

interface Race {
  readonly script: readonly MockMessage[];
  readonly options?: (odds: Odds) => Partial<LoopOptions>;
  /** The calls that the scheduler makes at random moments. The test also compares their return values. */
  readonly acts: readonly ((playing: Playing) => Answer | Promise<Answer>)[];
  readonly leg: (result: LoopResult) => string;
}

async function legsOf({ script, options, acts, leg }: Race): Promise<readonly string[]> {
  const legs = new Set<string>();
  const once = async (s: Scheduler, patience: readonly number[]): Promise<void> => {
    const odds = createOdds(s);
    const playing = play([], {
      provider: atOdds(odds, script),
      tools: [
        tool("work", () => odds.turn("work")),
        tool("alone", () => odds.turn("alone"), { sequential: true }),
        tool("deaf", () => never, { timeoutMs: 100 }),
      ],
      timeouts: { toolCleanupMs: Number.POSITIVE_INFINITY },
      ...options?.(odds),
    });
    const answers = acts.map(async (act, index) => {
      // Waits a random number of turns. Otherwise the scheduler would nearly always run the action first.
      for (let passed = 0; passed <= (patience[index] ?? 0); passed += 1) await odds.turn(`act ${index}`);
      return act(playing);
    });
    const result = await s.waitFor(playing.result);
    const answered = await s.waitFor(Promise.all(answers));
    expect(playing.clock.pending, "timers").toBe(0);
    legs.add([...answered.filter((answer) => answer !== undefined), leg(result)].join(": "));
  };
  const patience = fc.array(fc.integer({ min: 0, max: 25 }), { minLength: acts.length, maxLength: acts.length });
  await fc.assert(fc.asyncProperty(fc.scheduler(), patience, once), { numRuns: 12 * (acts.length + 1) ** 3, seed: 20_260_101 });
  return [...legs].sort();
}

const endOf = (result: LoopResult): string => `${result.reason.kind} ${outcomesOf(result).join(", ")}`;

describe("a control from createLoopControl", () => {
  it("ends the run with an expected result if stop() races the end of a tool", async () => {
    const legs = await legsOf({ script: [toolCall("work"), text("Done.")], acts: [({ control }) => control.stop()], leg: endOf });
    expect(legs).toMatchInlineSnapshot(`
      [
        "accepted: stopped ",
        "accepted: stopped call_i0_0: completed",
        "accepted: stopped call_i0_0: interrupted",
        "accepted: stopped call_i0_0: not-run",
        "finished: answered call_i0_0: completed",
      ]
    `);
  });

  it("ends the run with an expected result if kill() races a tool's timeout", async () => {
    const legs = await legsOf({
      script: [toolCall("deaf"), text("Done.")],
      options: (odds) => ({ clock: odds.clock() }),
      acts: [({ control }) => control.kill()],
      leg: endOf,
    });
    expect(legs).toMatchInlineSnapshot(`
      [
        "accepted: killed ",
        "accepted: killed call_i0_0: interrupted",
        "accepted: killed call_i0_0: not-run",
        "accepted: killed call_i0_0: timed-out",
        "finished: answered call_i0_0: timed-out",
      ]
    `);
  });

  it("ends the run with an expected result if steer() races the end of the last iteration", async () => {
    const legs = await legsOf({
      script: [[text("Do"), text("ne.")], text("More.")],
      acts: [({ control }) => control.steer("Hey.")],
      leg: (result) => `${result.text} ${placesOf("Hey.", result)}`,
    });
    expect(legs).toMatchInlineSnapshot(`
      [
        "accepted: More. sent",
        "finished: Done. ",
      ]
    `);
  });

  it.for(["memory", "durable"] as const)(
    "ends the run with an expected result if interrupt() races the first tool call (%s journal)",
    async (kind) => {
      const legs = await legsOf({
        script: [[text("Hm. "), toolCall("work"), toolCall("alone")], text("Done.")],
        options: (odds) => (kind === "durable" ? { journal: odds.journal() } : {}),
        acts: [({ control }) => control.interrupt("Hey.")],
        leg: (result) => `${endOf(result)} ${placesOf("Hey.", result)}`,
      });
      expect(legs).toEqual([
        "accepted: answered call_i0_0: completed, call_i0_1: completed back",
        "accepted: interrupted  taken",
        "finished: answered call_i0_0: completed, call_i0_1: completed ",
      ]);
    },
  );

  it("ends the run with an expected result if interrupt() and stop() race the end of the first stream", async () => {
    const legs = await legsOf({
      script: [[text("Hm. "), toolCall("work")], text("Done.")],
      acts: [({ control }) => control.interrupt("Hey."), ({ control }) => void control.stop()],
      leg: (result) => `${endOf(result)} ${placesOf("Hey.", result)}`,
    });
    expect(legs).toMatchInlineSnapshot(`
      [
        "accepted: answered call_i0_0: completed back",
        "accepted: interrupted  taken",
        "accepted: stopped call_i0_0: completed back",
        "accepted: stopped call_i0_0: interrupted back",
        "finished: answered call_i0_0: completed ",
        "finished: stopped  ",
        "finished: stopped call_i0_0: completed ",
        "finished: stopped call_i0_0: interrupted ",
        "finished: stopped call_i0_0: not-run ",
      ]
    `);
  });

  it("does not make a resumed run repeat a call if drain() raced the end of a batch", async () => {
    const resumed: Promise<LoopResult>[] = [];
    const legs = await legsOf({
      script: [[toolCall("work"), toolCall("work"), toolCall("alone")], text("Done.")],
      acts: [({ control }) => control.drain()],
      leg: (result) => {
        const fails = tool("fails", () => Promise.reject(new Error("ran again")));
        const tools = ["work", "alone", "deaf"].map((name) => ({ ...fails, name }));
        const { journal, runId } = result;
        if (result.status === "suspended") resumed.push(play([text("Done.")], { tools, journal, runId }).result);
        return endOf(result);
      },
    });
    expect(legs).toMatchInlineSnapshot(`
      [
        "accepted: answered call_i0_0: completed, call_i0_1: completed, call_i0_2: completed",
        "accepted: drained call_i0_0: completed, call_i0_1: completed, call_i0_2: completed",
        "finished: answered call_i0_0: completed, call_i0_1: completed, call_i0_2: completed",
      ]
    `);
    for (const result of await Promise.all(resumed)) expect([result.text, result.reason.kind]).toEqual(["Done.", "answered"]);
  });

  it("does not lose any messages if a second run starts while the first run is ending", async () => {
    const legs = await legsOf({
      script: [[text("Hm. "), toolCall("work")], text("Done."), text("More."), text("More.")],
      acts: [
        ({ control }) => control.steer("Hey."),
        async ({ control }) => {
          const second = runToolLoop({
            provider: createMockProvider([text("Hi."), text("Hi again.")]),
            messages: [{ role: "user", content: "Go." }],
            control,
          });
          return second.then(
            ({ reason, messages }) => `second ${reason.kind} ${linesOf(messages).length} messages`,
            (error: unknown) => `second ${isLoopError(error, "already-running") ? "refused" : "failed"}`,
          );
        },
      ],
      leg: (result) => `${result.reason.kind} ${placesOf("Hey.", result)}`,
    });
    expect(legs).toMatchInlineSnapshot(`
      [
        "accepted: second answered 2 messages: answered sent",
        "accepted: second refused: answered sent",
        "finished: second answered 2 messages: answered ",
        "finished: second refused: answered ",
      ]
    `);
  });
});
