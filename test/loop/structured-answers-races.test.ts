import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  type LoopOptions,
  type LoopResult,
  memoryJournal,
  prepareIteration,
  runToolLoop,
  type SavedJournal,
  type StandardSchema,
  structuredOutput,
  type StructuredOutput,
} from "turnwright";
import { createMockProvider, createTestClock, fail, type MockScript, type MockMessage, text, toolCall } from "turnwright/testing";
import { createDurableStore } from "./durable-store.ts";
import { never, play, tool } from "./play.ts";
import { linesOf, textsOf } from "./transcript-lines.ts";

const schema = z.object({ n: z.number() });
const tools = [tool("echo", (args) => args)];
const wanting = (output: StructuredOutput): Partial<LoopOptions> => ({
  tools,
  middleware: [output],
});

function slowSchema(clock: { setTimeout(fn: () => void, ms: number): unknown }, ms = 50): StandardSchema {
  const validate: StandardSchema["~standard"]["validate"] = (value) =>
    new Promise((resolve) => void clock.setTimeout(() => resolve(schema["~standard"].validate(value)), ms));
  return { "~standard": { version: 1, vendor: "test", validate, jsonSchema: schema["~standard"].jsonSchema } };
}

describe("structuredOutput with a schema that fails", () => {
  it("ends the run after timeouts.callbackMs if the schema hangs", async () => {
    const hanging: StandardSchema = { "~standard": { version: 1, vendor: "test", validate: () => never } };
    const playing = play([text("8")], {
      ...wanting(structuredOutput(hanging, { jsonSchema: {} })),
      timeouts: { callbackMs: 700 },
    });
    await playing.clock.runAll();
    expect(await playing.result).toMatchObject({
      status: "error",
      reason: { kind: "hook-failed", hook: "structured-output.request", error: { message: "The hook took longer than 700 ms." } },
      text: "8",
    });
    expect([playing.endedAt(), playing.clock.pending]).toEqual([700, 0]);
  });

  it.for<[what: string, made: () => unknown, why: string]>([
    ["a BigInt", () => 8n, "a BigInt"],
    ["undefined", () => undefined, "undefined"],
    ["a function", () => () => 8, "a function"],
  ])("ends the run if the schema outputs %s", async ([, made, why]) => {
    const result = await play([text("8")], wanting(structuredOutput(z.unknown().transform(made)))).result;
    const message = `The schema returned a value that is not plain data: ${why}.`;
    expect(result).toMatchObject({
      reason: { kind: "hook-failed", hook: "structured-output.request", error: { message } },
      text: "8",
    });
  });
});

describe("answer validation by structuredOutput", () => {
  const validating = (answers: MockScript = [text('{ "n": 8 }')], more: Partial<LoopOptions> = {}) =>
    play(answers, ({ clock }) => ({
      ...wanting(structuredOutput(slowSchema(clock, 1_000))),
      limits: { wallClockMs: 500 },
      ...more,
    }));

  it.for<[verb: string, act: (playing: ReturnType<typeof play>) => unknown, reason: string]>([
    ["a stop", ({ control }) => control.stop(), "stopped"],
    ["a kill", ({ control }) => control.kill(), "killed"],
    ["the signal", ({ abort }) => abort.abort(), "aborted"],
    ["the wall clock", ({ clock }) => clock.advance(500), "wall-clock"],
  ])("does not delay the end of a run that %s ends", async ([, act, reason]) => {
    const playing = validating();
    await playing.clock.flush();
    await act(playing);
    const at = playing.clock.now();
    const result = await playing.result;
    expect([result.reason.kind, result.text, result.output, playing.endedAt()]).toEqual([reason, '{ "n": 8 }', undefined, at]);
    const saved = memoryJournal(JSON.parse(JSON.stringify(result.journal)));
    const provider = createMockProvider([text('{ "n": 9 }')]);
    const { runId, messages } = playing.options;
    const options = { runId, messages, clock: createTestClock(), ...wanting(structuredOutput(schema)), provider };
    const again = await runToolLoop({ ...options, journal: saved, resume: "retry-last" });
    // The retry replaces the answer whose validation was interrupted.
    expect([again.output, linesOf(again.messages), again.iterations]).toEqual([
      { n: 9 },
      ["user: Go.", 'assistant: { "n": 9 }'],
      1,
    ]);
  });

  const unlimited = { limits: {} };

  it("sets result.output to the next answer after a steered message", async () => {
    const playing = validating([text('{ "n": 8 }'), text('{ "n": 9 }')], unlimited);
    await playing.clock.flush();
    playing.control.steer("Nine, I mean.");
    await playing.clock.runAll();
    const result = await playing.result;
    expect([result.output, linesOf(result.messages)]).toEqual([
      { n: 9 },
      ["user: Go.", 'assistant: { "n": 8 }', "user: Nine, I mean.", 'assistant: { "n": 9 }'],
    ]);
  });

  it("leaves result.output undefined if the request after a steered message fails", async () => {
    const playing = validating([text('{ "n": 8 }'), fail({ status: 503 })], unlimited);
    await playing.clock.flush();
    playing.control.steer("Nine, I mean.");
    await playing.clock.runAll();
    const result = await playing.result;
    expect([result.reason.kind, result.text, result.output]).toEqual(["provider-error", '{ "n": 8 }', undefined]);
  });

  it("restarts the count of attempts after a steered message", async () => {
    const playing = play([text("Eight."), text("Nine."), text("Ten.")], ({ clock }) => ({
      tools,
      middleware: [
        prepareIteration(({ iteration }) => void (iteration === 0 && playing.control.steer("Nine, I mean."))),
        structuredOutput(slowSchema(clock), { maxRetries: 0 }),
      ],
    }));
    await playing.clock.runAll();
    const result = await playing.result;
    expect(result.reason).toMatchObject({ kind: "invalid-output", attempts: 1 });
    expect(linesOf(result.messages)).toEqual(["user: Go.", "assistant: Eight.", "user: Nine, I mean.", "assistant: Nine."]);
  });

  it("lets an interrupt end the run after an invalid answer, without another attempt", async () => {
    for (const [turn, reason, undelivered] of [
      [text('{ "n": 8 }'), "answered", ["And now?"]],
      [text('{ "n": "8" }'), "interrupted", []],
    ] as const) {
      const playing = validating([turn], unlimited);
      await playing.clock.flush();
      playing.control.interrupt("And now?");
      await playing.clock.runAll();
      const result = await playing.result;
      expect([result.reason.kind, textsOf(result.undelivered)]).toEqual([reason, undelivered]);
      expect(playing.provider.calls).toBe(1);
    }
  });

  it('lets a stop after the last invalid answer replace the reason "invalid-output"', async () => {
    const playing = play([text("Eight.")], ({ control }) => ({
      ...wanting(structuredOutput(schema, { maxRetries: 0 })),
      events: undefined,
      journal: stopBehind("i0/request/@structured-output/output", () => control.stop()),
    }));
    expect((await playing.result).reason.kind).toBe("stopped");
  });
});

function stopBehind(key: string, act: () => unknown): NonNullable<LoopOptions["journal"]> {
  const journal = memoryJournal();
  return {
    ...journal,
    step: async (asked, body) => {
      const answer = await journal.step(asked, body);
      if (asked === key) act();
      return answer;
    },
  };
}

describe("structuredOutput with a journal", () => {
  const turns: readonly MockMessage[] = [toolCall("echo"), text("Eight."), text('{ "n": 8 }')];

  it("gives the same result in a run resumed after any record, and does not validate any answer twice", async () => {
    for (let afterRecords = 1; afterRecords < 16; afterRecords += 1) {
      const store = createDurableStore();
      const validated: unknown[] = [];
      const counting: StandardSchema = {
        "~standard": {
          version: 1,
          vendor: "test",
          validate: (value) => (validated.push(value), { value: { ...(value as object), times: validated.length } }),
        },
      };
      const run = (fate: object): Promise<LoopResult> =>
        runToolLoop({
          provider: createMockProvider(({ iteration }) => turns[iteration] ?? text("")),
          messages: [{ role: "user", content: "Go." }],
          runId: "durable",
          clock: createTestClock(),
          journal: store.open(fate),
          ...wanting(structuredOutput(counting, { jsonSchema: {} })),
        });
      await run({ afterRecords }).catch(() => {});
      const result = await run({});
      expect([result.output, validated]).toEqual([{ n: 8, times: 1 }, [{ n: 8 }]]);
      const again = await run({});
      expect([again.output, again.messages, validated.length]).toEqual([result.output, result.messages, 1]);
    }
  });

  it('records each validation under a key such as "i1/request/@structured-output/output"', async () => {
    const { journal } = await play([...turns], wanting(structuredOutput(schema))).result;
    expect(memoryJournal(JSON.parse(JSON.stringify(journal))).keys()).toEqual([
      "run",
      "begin",
      "i0/request/model",
      "i0/call/0/echo/outcome",
      "i0/next",
      "i1/request/model",
      "i1/request/@structured-output/output",
      "i1/end/ended",
      "i1/again",
      "i2/request/model",
      "i2/request/@structured-output/output",
      "i2/answered",
    ]);
  });

  it('does not make a request with resume: "retry-last" if validation of a recorded answer fails', async () => {
    const { journal, runId } = await play([text("Eight.")], wanting(structuredOutput(schema, { maxRetries: 0 }))).result;
    const { steps } = JSON.parse(JSON.stringify(journal)) as SavedJournal;
    const saved = memoryJournal({ steps: Object.fromEntries(Object.entries(steps).slice(0, 3)) });
    const provider = createMockProvider([]);
    const options = {
      runId,
      provider,
      messages: [{ role: "user" as const, content: "Go." }],
      ...wanting(structuredOutput(schema, { maxRetries: 0 })),
    };
    const result = await runToolLoop({ ...options, journal: saved, resume: "retry-last" });
    expect([result.reason.kind, provider.calls]).toEqual(["invalid-output", 0]);
  });

  it('allows the same number of attempts again with resume: "retry-last"', async () => {
    const options = {
      runId: "r",
      messages: [{ role: "user" as const, content: "Go." }],
      ...wanting(structuredOutput(schema, { maxRetries: 1 })),
    };
    const first = await runToolLoop({ ...options, provider: createMockProvider(() => text("Eight.")) });
    expect(first.reason).toMatchObject({ kind: "invalid-output", attempts: 2 });
    const provider = createMockProvider([text("Eight."), text('{ "n": 8 }')]);
    const again = await runToolLoop({ ...options, provider, journal: first.journal, resume: "retry-last" });
    expect([
      again.output,
      again.iterations,
      linesOf(again.messages).filter((line) => line === "assistant: Eight.").length,
    ]).toEqual([{ n: 8 }, 3, 2]);
  });
});
