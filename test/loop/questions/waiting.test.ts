import { z } from "zod";
import { describe, expect, it } from "vitest";
import { ask, createLoopControl, type LoopEvent, type LoopOptions, runNested } from "turnwright";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { createDurableStore } from "../durable-store.ts";
import { nesting, question } from "../nested/nesting.ts";
import { answersOf, outcomesOf, play, type Playing, tool } from "../play.ts";

const script = (name = "book"): NonNullable<Parameters<typeof play>[0]> => [[toolCall(name)], text("Done.")];
const city = z.object({ city: z.string().refine((name) => name !== "Atlantis", "there is no such city") });

function askedIn({ recording }: Playing): readonly Extract<LoopEvent, { type: "question-asked" }>[] {
  return recording.events.flatMap((event) => (event.type === "question-asked" ? [event] : []));
}

function answersIn({ recording }: Playing): readonly string[] {
  return recording.events.flatMap((event) => (event.type === "question-answered" ? [event.answer] : []));
}

function playAsking(traits: Parameters<typeof tool>[2] = {}, more: Partial<LoopOptions> = {}): Playing {
  const book = tool("book", async (_, context) => ask(context, { question: "Which city?", schema: city, wait: true }), traits);
  return play(script(), { tools: [book], ...more });
}

const lastId = (playing: Playing): string => askedIn(playing).at(-1)?.id ?? "none";

describe("a question that waits in the process", () => {
  it("is emitted as an event, and answered by control.answer()", async () => {
    const playing = playAsking();
    await playing.clock.flush();
    const [asked] = askedIn(playing);
    expect(asked).toMatchObject({
      callId: "call_i0_0",
      name: "book",
      index: 0,
      question: { text: "Which city?", schema: { type: "object" } },
    });
    expect(asked?.id).toMatch(/^call_i0_0#\w{8}-1$/);
    expect(playing.control.answer("call_i0_0", { kind: "result", result: {} })).toBe("unknown");
    expect(playing.control.answer(lastId(playing), { kind: "result", result: { city: "Oslo" } })).toBe("accepted");
    expect(playing.control.answer(lastId(playing), { kind: "result", result: { city: "Rome" } })).toBe("unknown");
    const result = await playing.result;
    expect([answersOf(result)[0]?.result, answersIn(playing), playing.clock.pending]).toEqual([{ city: "Oslo" }, ["result"], 0]);
    expect(playing.control.answer(lastId(playing), { kind: "result", result: {} })).toBe("unknown");
  });

  it("is asked again under a different id if the answer does not match the schema", async () => {
    const playing = playAsking();
    await playing.clock.flush();
    const first = lastId(playing);
    playing.control.answer(first, { kind: "result", result: { city: "Atlantis" } });
    await playing.clock.flush();
    const issues = [{ message: "there is no such city", path: ["city"] }];
    expect(askedIn(playing).map(({ question: { issues: found } }) => found)).toEqual([undefined, issues]);
    expect(playing.control.answer(first, { kind: "result", result: { city: "Oslo" } })).toBe("unknown");
    playing.control.answer(lastId(playing), { kind: "result", result: { city: "Oslo" } });
    expect(answersOf(await playing.result)[0]?.result).toEqual({ city: "Oslo" });
  });

  it("stays open after an invalid answer and after a forbidden answer from a web page", async () => {
    const playing = playAsking();
    await playing.clock.flush();
    for (const [answer, problem] of [
      [undefined, "is undefined"],
      [{ kind: "approve" }, "is an object"],
      [{ kind: "result", result: 1n }, "is an object"],
      [{ kind: "result", result: "x", fromPage: true }, "comes from a page"],
      [{ kind: "result", result: "x", fromPage: "true" }, "is an object"],
    ] as const) {
      const give = (): unknown => playing.control.answer(lastId(playing), answer as never);
      expect(give).toThrow(
        expect.objectContaining({ code: "invalid-decision", message: expect.stringContaining(problem) as string }),
      );
    }
    playing.control.answer(lastId(playing), { kind: "failed", error: "Nobody is there." });
    expect([outcomesOf(await playing.result), answersIn(playing)]).toEqual([["call_i0_0: failed"], ["failed"]]);
  });

  it("pauses its call's time limits", async () => {
    const playing = playAsking({ timeoutMs: 1_000, idleTimeoutMs: 500 });
    await playing.clock.advance(600_000);
    expect(answersIn(playing)).toEqual([]);
    playing.control.answer(lastId(playing), { kind: "result", result: { city: "Oslo" } });
    expect(outcomesOf(await playing.result)).toEqual(["call_i0_0: completed"]);
    expect(playing.clock.pending).toBe(0);
  });

  it("leaves the tool the rest of its timeoutMs after the answer", async () => {
    const slow = tool(
      "book",
      async (_, context) => {
        const wait = async (ms: number): Promise<void> => new Promise((resolve) => void playing.clock.setTimeout(resolve, ms));
        await wait(600);
        await ask(context, { question: "Which city?", wait: true });
        await wait(600);
      },
      { timeoutMs: 1_000 },
    );
    const playing: Playing = play(script(), { tools: [slow] });
    await playing.clock.advance(5_000);
    playing.control.answer(lastId(playing), { kind: "result", result: "Oslo" });
    await playing.clock.advance(399);
    expect(playing.endedAt()).toBeUndefined();
    await playing.clock.advance(1);
    expect(outcomesOf(await playing.result)).toEqual(["call_i0_0: timed-out"]);
    await playing.clock.advance(1_000);
    expect(playing.clock.pending).toBe(0);
  });

  it("is withdrawn when the call or the run ends", async () => {
    const ends: { readonly [how: string]: (playing: Playing) => void } = {
      stop: ({ control }) => void control.stop(),
      kill: ({ control }) => void control.kill(),
      abort: ({ abort }) => abort.abort(),
    };
    for (const end of Object.values(ends)) {
      const playing = playAsking();
      await playing.clock.flush();
      end(playing);
      expect(outcomesOf(await playing.result)).toEqual(["call_i0_0: interrupted"]);
      expect([answersIn(playing), playing.clock.pending]).toEqual([["withdrawn"], 0]);
    }
    const late = playAsking({}, { limits: { wallClockMs: 1_000 } });
    await late.clock.advance(1_000);
    expect([(await late.result).reason.kind, answersIn(late)]).toEqual(["wall-clock", ["withdrawn"]]);
    const hasty = tool("book", (_, context) => (void ask(context, { question: "Which city?", wait: true }), "done"));
    const playing = play(script(), { tools: [hasty] });
    await playing.result;
    expect([answersIn(playing), playing.control.answer(lastId(playing), { kind: "result", result: "x" })]).toEqual([
      ["withdrawn"],
      "unknown",
    ]);
  });

  it("fails in a run without a control", async () => {
    const playing = playAsking({}, { control: undefined });
    expect(JSON.stringify(answersOf(await playing.result)[0]?.result)).toContain('Pass the option \\"control\\"');
  });

  it("can be answered by each outer control if it is asked in a nested run", async () => {
    const asking = tool("book", (_, context) => ask(context, { question: "Which city?", wait: true }));
    const own = createLoopControl();
    const inside = (): LoopOptions => ({
      messages: question,
      provider: createMockProvider(script()),
      tools: [asking],
      control: own,
    });
    const tools = [
      nesting("agent tool", "agent", inside),
      tool("plain", async (_, context) => (await runNested(context, inside())).text),
    ];
    for (const [name, byOuter] of [
      ["agent", true],
      ["agent", false],
      ["plain", true],
    ] as const) {
      const playing = play(script(name), { tools });
      await playing.clock.flush();
      expect(lastId(playing)).toMatch(/^call_i0_0\/call_i0_0#\w{8}-1$/);
      const control = byOuter ? playing.control : own;
      expect(control.answer(lastId(playing), { kind: "result", result: "Oslo" })).toBe("accepted");
      expect(outcomesOf(await playing.result)).toEqual(["call_i0_0: completed"]);
    }
  });

  it('gives its call the outcome "interrupted" after a crash', async () => {
    const store = createDurableStore();
    const first = playAsking({}, { journal: store.open({ within: "i0/call/0/book/outcome" }), runId: "r" });
    while (askedIn(first).length === 0) await first.clock.flush();
    first.control.answer(lastId(first), { kind: "result", result: { city: "Oslo" } });
    await expect(first.result).rejects.toThrow("The process died.");
    const provider = createMockProvider([text("Done.")]);
    const second = playAsking({}, { journal: store.open(), runId: "r", provider });
    expect([outcomesOf(await second.result), askedIn(second)]).toEqual([["call_i0_0: interrupted"], []]);
  });

  it("of a durable tool is recorded with the valid answer, so the next execution needs no control", async () => {
    const store = createDurableStore();
    const seen: unknown[] = [];
    const schema = z
      .string()
      .min(2)
      .transform((name) => name.length);
    const both = tool(
      "book",
      async (_, context) => {
        const asked = ["City?", "Name?"].map((text) => ask(context, { question: text, schema, wait: true }));
        return seen.push(await Promise.all(asked));
      },
      { durable: true },
    );
    const options = { tools: [both], runId: "r" };
    const first = play(script(), { ...options, journal: store.open({ within: "i0/call/0/book/outcome" }) });
    for (const [index, answer] of [
      [1, "A"],
      [0, "Oslo"],
      [2, "Ann"],
    ] as const) {
      for (let count = 0; count < 50 && askedIn(first).length <= index; count += 1) await first.clock.flush();
      first.control.answer(askedIn(first)[index]?.id ?? "none", { kind: "result", result: answer });
    }
    await expect(first.result).rejects.toThrow("The process died.");
    const provider = createMockProvider([text("Done.")]);
    const second = play([], { ...options, journal: store.open(), provider, control: undefined });
    expect([outcomesOf(await second.result), askedIn(second)]).toEqual([["call_i0_0: completed"], []]);
    expect(seen).toEqual([
      [4, 3],
      [4, 3],
    ]);
  });

  it("fails after 20 answers that do not match the schema", async () => {
    const playing = playAsking();
    for (let count = 0; count < 20; count += 1) {
      await playing.clock.flush();
      playing.control.answer(lastId(playing), { kind: "result", result: { city: "Atlantis" } });
    }
    expect([outcomesOf(await playing.result), askedIn(playing).length]).toEqual([["call_i0_0: failed"], 20]);
    expect(JSON.stringify(answersOf(await playing.result)[0]?.result)).toContain("None of the 20 answers fits");
  });
});
