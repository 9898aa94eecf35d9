import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  defineAgentTool,
  isLoopError,
  type LoopOptions,
  type LoopResult,
  memoryJournal,
  runToolLoop,
  type SavedJournal,
  type StandardSchema,
  streamToolLoop,
  toolResult,
} from "turnwright";
import {
  createMockProvider,
  createTestClock,
  fail,
  finish,
  type MockScript,
  type MockTurn,
  text,
  toolCall,
} from "turnwright/testing";
import { createDurableStore } from "./durable-store.ts";
import { never, play, tool } from "./play.ts";
import { linesOf, textsOf } from "./transcript-lines.ts";

const schema = z.object({ n: z.number() });
const tools = [tool("echo", (args) => args), tool("bye", () => toolResult({ data: "bye", endTurn: true }))];
const wanting = (output: NonNullable<LoopOptions["policies"]>["output"]): Partial<LoopOptions> => ({
  tools,
  policies: { output },
});
const complaint = (why: string): string =>
  `Your answer does not fit the schema: ${why}\nSend the whole answer again, as JSON and nothing else.`;
const notNumber = complaint("n: Invalid input: expected number, received string");

/** A schema whose answer takes 50 ms, or whatever the clock says. */
function slowSchema(clock: { setTimeout(fn: () => void, ms: number): unknown }, ms = 50): StandardSchema {
  const validate: StandardSchema["~standard"]["validate"] = (value) =>
    new Promise((resolve) => void clock.setTimeout(() => resolve(schema["~standard"].validate(value) as { value: unknown }), ms));
  return { "~standard": { version: 1, vendor: "test", validate, jsonSchema: schema["~standard"].jsonSchema } };
}

describe("an answer that fits", () => {
  it("is on the result as a value, with its text", async () => {
    const result = await play([toolCall("echo"), text('{ "n": 8 }')], wanting({ schema })).result;
    expect([result.reason.kind, result.output, result.text]).toEqual(["answered", { n: 8 }, '{ "n": 8 }']);
  });

  it("is on the result of a stream too", async () => {
    const stream = streamToolLoop({
      provider: createMockProvider([text('{ "n": 8 }')]),
      messages: [{ role: "user", content: "Go." }],
      policies: { output: { schema } },
    });
    expect((await stream.result).output).toEqual({ n: 8 });
  });

  it("has what the schema makes of it, as plain data", async () => {
    const filled = z.object({
      at: z.string().transform((at) => new Date(at)),
      unit: z.string().default("C"),
    });
    const result = await play([text('{ "at": "2024-05-06" }')], wanting({ schema: filled })).result;
    expect(result.output).toEqual({ at: "2024-05-06T00:00:00.000Z", unit: "C" });
    expect(JSON.parse(JSON.stringify(result)).output).toEqual(result.output);
  });

  it("may come in several streams", async () => {
    const result = await play([[text('{ "n":'), finish("paused")], text(" 8 }")], wanting({ schema })).result;
    expect(result.output).toEqual({ n: 8 });
  });

  it("may be what was said before a silence", async () => {
    const result = await play([[text('{ "n": 8 }'), toolCall("echo")], finish("stop")], wanting({ schema })).result;
    expect([result.reason.kind, result.output]).toEqual(["answered", { n: 8 }]);
  });

  it("may be null", async () => {
    const result = await play([text("null")], wanting({ schema: z.null() })).result;
    expect([result.reason.kind, result.output]).toEqual(["answered", null]);
  });

  it("is checked with the schema that was there when the run began", async () => {
    const output: { schema: StandardSchema } = { schema };
    const playing = play([text('{ "n": 8 }')], wanting(output));
    output.schema = z.string();
    expect((await playing.result).output).toEqual({ n: 8 });
  });
});

describe("an answer that does not fit", () => {
  it("is asked for again, with what is wrong", async () => {
    const playing = play([text("Eight."), text('{ "n": "8" }'), text('{ "n": 8 }')], wanting({ schema }));
    const result = await playing.result;
    expect([result.reason.kind, result.output, result.iterations]).toEqual(["answered", { n: 8 }, 3]);
    expect(linesOf(result.messages)).toEqual([
      "user: Go.",
      "assistant: Eight.",
      expect.stringContaining("user: Your answer does not fit the schema: it is not JSON: Unexpected token"),
      'assistant: { "n": "8" }',
      `user: ${notNumber}`,
      'assistant: { "n": 8 }',
    ]);
  });

  it.for([0, 1, 2, 5])("ends the run after %i more tries, with the text kept", async (maxRetries) => {
    const result = await play(() => text('{ "n": "8" }'), wanting({ schema, maxRetries })).result;
    const issues = [{ message: "Invalid input: expected number, received string", path: ["n"] }];
    expect([result.status, result.reason, result.output, result.text, result.iterations]).toEqual([
      "error",
      { kind: "invalid-output", issues, attempts: maxRetries + 1 },
      undefined,
      '{ "n": "8" }',
      maxRetries + 1,
    ]);
    expect(linesOf(result.messages).at(-1)).toBe('assistant: { "n": "8" }');
  });

  it("may be followed by calls before the next try", async () => {
    const playing = play(
      [text("Eight."), toolCall("echo"), text("Eight."), toolCall("echo"), text('{ "n": 8 }')],
      wanting({ schema }),
    );
    const result = await playing.result;
    expect([result.output, result.toolCallsExecuted, result.iterations]).toEqual([{ n: 8 }, 2, 5]);
  });

  it("is not asked for past maxIterations", async () => {
    const result = await play(() => text("Eight."), { ...wanting({ schema }), limits: { maxIterations: 2 } }).result;
    expect([result.reason.kind, result.text, result.output, result.iterations]).toEqual([
      "max-iterations",
      "Eight.",
      undefined,
      2,
    ]);
  });

  it("is one where the schema throws", async () => {
    const broken = z.string().transform((url) => new URL(url).host);
    const result = await play([text('"nowhere"'), text('"https://example.com/"')], wanting({ schema: broken })).result;
    expect([result.output, textsOf(result.messages.filter(({ role }) => role === "user") as never)[1]]).toEqual([
      "example.com",
      complaint("could not be checked: Invalid URL"),
    ]);
  });
});

describe("what the model is told beforehand", () => {
  const systems = async (more: Partial<LoopOptions>): Promise<readonly (string | undefined)[]> => {
    const playing = play([toolCall("echo"), text("Eight."), text('{ "n": 8 }')], { ...wanting({ schema }), ...more });
    await playing.result;
    return playing.provider.requests.map(({ system }) => system);
  };
  const prompt = `Give your final answer as JSON that fits this JSON Schema, with nothing before or after it:\n${JSON.stringify({
    type: "object",
    properties: { n: { type: "number" } },
    required: ["n"],
  })}`;

  it("is the same in each pass, behind the caller's own text", async () => {
    expect(await systems({})).toEqual([prompt, prompt, prompt]);
    expect(await systems({ system: "Be brief." })).toEqual(Array.from({ length: 3 }, () => `Be brief.\n\n${prompt}`));
  });

  it("is behind a hook's text, too, and not in what the hook is shown", async () => {
    const shown: unknown[] = [];
    const preparePass: NonNullable<LoopOptions["hooks"]>["preparePass"] = ({ system, iteration }) => {
      shown.push(system);
      return iteration === 1 ? { system: "Be loud." } : undefined;
    };
    const sent = await systems({ system: "Be brief.", hooks: { preparePass } });
    expect(sent).toEqual(["Be brief.", "Be loud.", "Be brief."].map((own) => `${own}\n\n${prompt}`));
    expect(shown).toEqual(["Be brief.", "Be brief.", "Be brief."]);
  });

  it("is nothing where no answer is wanted", async () => {
    expect(await systems({ policies: {} })).toEqual([undefined, undefined]);
  });
});

it.for<[ending: string, script: MockScript, more: Partial<LoopOptions>]>([
  ["length", [[text('{ "n": 8 }'), finish("length")]], {}],
  ["refusal", [[text('{ "n": 8 }'), finish("refusal")]], {}],
  ["end-turn", [[text('{ "n": 8 }'), toolCall("bye")]], {}],
  ["stop-condition", [text('{ "n": 8 }')], { policies: { stopWhen: () => true, output: { schema } } }],
  ["empty", [finish("stop")], {}],
  ["provider-error", [[text('{ "n": 8 }'), fail({ status: 503 })]], {}],
  [
    "max-iterations",
    [toolCall("echo"), text('{ "n": 8 }')],
    { limits: { maxIterations: 1 }, policies: { finalAnswer: true, output: { schema } } },
  ],
])("a run that ends as %s has no value", async ([ending, script, more]) => {
  const result = await play(script, { ...wanting({ schema }), ...more }).result;
  expect([result.reason.kind, result.output, "output" in JSON.parse(JSON.stringify(result))]).toEqual([ending, undefined, false]);
});

describe("a schema that fails", () => {
  it("because it hangs ends the run after hookMs, with the text kept", async () => {
    const hanging: StandardSchema = { "~standard": { version: 1, vendor: "test", validate: () => never } };
    const playing = play([text("8")], { ...wanting({ schema: hanging, jsonSchema: {} }), timeouts: { hookMs: 700 } });
    await playing.clock.runAll();
    expect(await playing.result).toMatchObject({
      status: "error",
      reason: { kind: "hook-failed", hook: "output", error: { message: "The hook took longer than 700 ms." } },
      text: "8",
    });
    expect([playing.endedAt(), playing.clock.pending]).toEqual([700, 0]);
  });

  it.for<[what: string, made: () => unknown, why: string]>([
    ["a BigInt", () => 8n, "a BigInt"],
    ["nothing", () => undefined, "undefined"],
    ["a function", () => () => 8, "a function"],
  ])("because it makes %s ends the run", async ([, made, why]) => {
    const result = await play([text("8")], wanting({ schema: z.unknown().transform(made) })).result;
    const message = `The schema made a value that is not plain data: ${why}.`;
    expect(result).toMatchObject({ reason: { kind: "hook-failed", hook: "output", error: { message } }, text: "8" });
  });
});

describe("a verb while the answer is validated", () => {
  const validating = (answers: MockScript = [text('{ "n": 8 }')], more: Partial<LoopOptions> = {}) =>
    play(answers, ({ clock }) => ({ ...wanting({ schema: slowSchema(clock, 1_000) }), limits: { wallClockMs: 500 }, ...more }));

  it.for<[verb: string, act: (playing: ReturnType<typeof play>) => unknown, reason: string]>([
    ["a stop", ({ control }) => control.stop(), "stopped"],
    ["a kill", ({ control }) => control.kill(), "killed"],
    ["the signal", ({ abort }) => abort.abort(), "aborted"],
    ["the wall clock", ({ clock }) => clock.advance(500), "wall-clock"],
  ])("%s ends the run at once, with the text kept", async ([, act, reason]) => {
    const playing = validating();
    await playing.clock.flush();
    await act(playing);
    const at = playing.clock.now();
    const result = await playing.result;
    expect([result.reason.kind, result.text, result.output, playing.endedAt()]).toEqual([reason, '{ "n": 8 }', undefined, at]);
    const saved = memoryJournal(JSON.parse(JSON.stringify(result.journal)));
    const provider = createMockProvider([text('{ "n": 9 }')]);
    const { runId, messages } = playing.options;
    const options = { runId, messages, clock: createTestClock(), ...wanting({ schema }), provider };
    const again = await runToolLoop({ ...options, journal: saved, resume: "retry-last" });
    // The turn that nobody could judge is taken back.
    expect([again.output, linesOf(again.messages), again.iterations]).toEqual([
      { n: 9 },
      ["user: Go.", 'assistant: { "n": 9 }'],
      1,
    ]);
  });

  const unlimited = { limits: {} };

  it("a steered message has one more pass made, whose answer counts", async () => {
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

  it("a value that is overtaken by a steered message is no longer on the result", async () => {
    const playing = validating([text('{ "n": 8 }'), fail({ status: 503 })], unlimited);
    await playing.clock.flush();
    playing.control.steer("Nine, I mean.");
    await playing.clock.runAll();
    const result = await playing.result;
    expect([result.reason.kind, result.text, result.output]).toEqual(["provider-error", '{ "n": 8 }', undefined]);
  });

  it("a steered message goes before the end of tries, and grants new ones", async () => {
    const playing = play([text("Eight."), text("Nine."), text("Ten.")], ({ clock }) => ({
      tools,
      policies: { output: { schema: slowSchema(clock), maxRetries: 0 } },
      hooks: { preparePass: ({ iteration }) => void (iteration === 0 && playing.control.steer("Nine, I mean.")) },
    }));
    await playing.clock.runAll();
    const result = await playing.result;
    expect(result.reason).toMatchObject({ kind: "invalid-output", attempts: 1 });
    expect(linesOf(result.messages)).toEqual(["user: Go.", "assistant: Eight.", "user: Nine, I mean.", "assistant: Nine."]);
  });

  it("an interrupt comes too late for an answer that fits, and goes before another try", async () => {
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

  it("a stop behind it outranks the last answer that did not fit", async () => {
    const playing = play([text("Eight.")], ({ control }) => ({
      ...wanting({ schema, maxRetries: 0 }),
      events: undefined,
      journal: stopBehind("p0/output", () => control.stop()),
    }));
    expect((await playing.result).reason.kind).toBe("stopped");
  });
});

/** A memory journal that has something happen behind a step. */
function stopBehind(key: string, act: () => unknown): NonNullable<LoopOptions["journal"]> {
  const journal = memoryJournal();
  return {
    ...journal,
    step: async (step) => {
      const answer = await journal.step(step);
      if (step.key === key) act();
      return answer;
    },
  };
}

describe("over a journal", () => {
  const turns: readonly MockTurn[] = [toolCall("echo"), text("Eight."), text('{ "n": 8 }')];

  it("a crash anywhere changes nothing, and no answer is validated twice once that is recorded", async () => {
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
          ...wanting({ schema: counting, jsonSchema: {} }),
        });
      await run({ afterRecords }).catch(() => {});
      const result = await run({});
      expect([result.output, validated]).toEqual([{ n: 8, times: 1 }, [{ n: 8 }]]);
      const again = await run({});
      expect([again.output, again.messages, validated.length]).toEqual([result.output, result.messages, 1]);
    }
  });

  it("pins the keys", async () => {
    const { journal } = await play([...turns], wanting({ schema })).result;
    expect(memoryJournal(JSON.parse(JSON.stringify(journal))).keys()).toEqual([
      "p0/inbox",
      "p0/model",
      "p0/tool/0/echo",
      "p1/inbox",
      "p1/model",
      "p1/output",
      "p2/inbox",
      "p2/model",
      "p2/output",
      "p2/inbox-end",
    ]);
  });

  it("an answer that is found not to fit only now is not tried again at once", async () => {
    const { journal, runId } = await play([text("Eight.")], wanting({ schema, maxRetries: 0 })).result;
    const { steps } = JSON.parse(JSON.stringify(journal)) as SavedJournal;
    const saved = memoryJournal({ steps: Object.fromEntries(Object.entries(steps).slice(0, 2)) });
    const provider = createMockProvider([]);
    const options = {
      runId,
      provider,
      messages: [{ role: "user" as const, content: "Go." }],
      ...wanting({ schema, maxRetries: 0 }),
    };
    const result = await runToolLoop({ ...options, journal: saved, resume: "retry-last" });
    expect([result.reason.kind, provider.calls]).toEqual(["invalid-output", 0]);
  });

  it("answers that never fitted are tried again, as often as before", async () => {
    const options = { runId: "r", messages: [{ role: "user" as const, content: "Go." }], ...wanting({ schema, maxRetries: 1 }) };
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

it("the answer of an agent is a value to the run around it", async () => {
  const agent = defineAgentTool({
    name: "count",
    description: "Counts",
    inputSchema: { type: "object" },
    prepare: () => ({
      provider: createMockProvider([text("Eight."), text('{ "n": 8 }')]),
      messages: [{ role: "user", content: "Count." }],
      policies: { output: { schema } },
    }),
  });
  const result = await play([toolCall("count"), text("Eight.")], { tools: [agent] }).result;
  expect(result.functionHistory[0]?.functionResponse.response.result).toEqual({ n: 8 });
});

it.for<[option: string, output: object, expected: string]>([
  ["schema", {}, "a Standard Schema, such as zod makes, but is undefined"],
  ["schema", { schema: { type: "object" } }, "a Standard Schema, such as zod makes, but is an object"],
  ["maxRetries", { schema, maxRetries: -1 }, "a whole number of at least 0, or Infinity, but is -1"],
  ["jsonSchema", { schema, jsonSchema: "x" }, 'a JSON Schema: an object of plain data, but is "x"'],
])("refuses a %s that is none: %j", async ([option, output, expected]) => {
  const playing = play([], wanting(output as never));
  const error = await playing.result.catch((thrown: unknown) => thrown);
  expect(isLoopError(error, "invalid-option") && error.message).toBe(`Option "policies.output.${option}" must be ${expected}.`);
});
