import { expect, it } from "vitest";
import { createLoopControl, defineTool, memoryJournal, runToolLoop, type LoopOptions, type LoopResult } from "turnwright";
import { inspectJournal } from "turnwright/journal";
import {
  createMockProvider,
  createTestClock,
  fail,
  finish,
  type MockMessage,
  stall,
  text,
  toolCall,
  usage,
} from "turnwright/testing";

const messages = [{ role: "user" as const, content: "Go." }];

function setUp(): { readonly ran: string[]; readonly options: Omit<LoopOptions, "provider"> } {
  const ran: string[] = [];
  const save = defineTool({
    name: "save",
    description: "Saves",
    inputSchema: { type: "object" },
    execute: (_args, ctx) => ran.push(ctx.callId),
  });
  return { ran, options: { tools: [save], messages, runId: "r" } };
}

const saved = ({ journal }: LoopResult): ReturnType<typeof memoryJournal> => memoryJournal(JSON.parse(JSON.stringify(journal)));
const broken: readonly MockMessage[] = [
  [text("Saving. "), toolCall("save"), usage({ inputTokens: 5, outputTokens: 1 })],
  [text("Half an ans"), usage({ inputTokens: 7, outputTokens: 2 }), fail({ status: 503 })],
];

it('resume: "retry-last" continues after a provider error without running a finished tool again', async () => {
  const { ran, options } = setUp();
  const first = await runToolLoop({ ...options, provider: createMockProvider(broken) });
  expect([first.reason.kind, first.text, ran]).toEqual(["provider-error", "Half an ans", ["call_i0_0"]]);

  const provider = createMockProvider([[text("Done."), usage({ inputTokens: 7, outputTokens: 1 })]]);
  const second = await runToolLoop({ ...options, provider, journal: saved(first), resume: "retry-last" });
  expect([second.status, second.text, ran, second.iterations, second.usage.totalTokens]).toEqual([
    "completed",
    "Done.",
    ["call_i0_0"],
    2,
    23,
  ]);
  expect(provider.requests.map((request) => request.messages.map((message) => message.role))).toEqual([
    ["user", "assistant", "tool"],
  ]);
  expect(second.messages.at(-1)).toEqual({ role: "assistant", content: [{ type: "text", text: "Done." }] });

  const untouched = createMockProvider([]);
  const third = await runToolLoop({ ...options, provider: untouched, journal: saved(second) });
  expect([third.text, untouched.calls, third.messages]).toEqual(["Done.", 0, second.messages]);
});

it('resume: "retry-last" continues a failed run even if an earlier attempt to resume it lacked this option', async () => {
  const { options } = setUp();
  const first = await runToolLoop({ ...options, provider: createMockProvider(broken) });
  const provider = createMockProvider([]);
  const again = await runToolLoop({ ...options, provider, journal: saved(first) });
  expect([again.reason, provider.calls]).toEqual([first.reason, 0]);

  const third = await runToolLoop({
    ...options,
    provider: createMockProvider([text("Yes.")]),
    journal: saved(again),
    resume: "retry-last",
  });
  expect(third.text).toBe("Yes.");
});

it('resume: "retry-last" records repeated steps under new keys', async () => {
  const { options } = setUp();
  const first = await runToolLoop({ ...options, provider: createMockProvider(broken) });
  const provider = createMockProvider([toolCall("save"), fail({ status: 503 })]);
  const second = await runToolLoop({ ...options, provider, journal: saved(first), resume: "retry-last" });
  const last = createMockProvider([text("At last.")]);
  const third = await runToolLoop({ ...options, provider: last, journal: saved(second), resume: "retry-last" });
  expect(third.text).toBe("At last.");
  expect(saved(third).keys().join("\n")).toMatchInlineSnapshot(`
    "run
    begin
    i0/request/model
    i0/call/0/save/outcome
    i0/next
    i1/request/model
    i1/answered
    i1/answered#2
    i1~2/request/model
    i1~2/call/0/save/outcome
    i1~2/next
    i2/request/model
    i2/answered
    i2/answered#2
    i2~2/request/model
    i2~2/answered"
  `);
});

it.for<
  [title: string, turn: MockMessage, limits: LoopOptions["limits"], end: (control: ReturnType<typeof createLoopControl>) => void]
>([
  ["a stop", stall(), {}, (control) => control.stop()],
  ["a kill", stall(), {}, (control) => control.kill()],
  ["a silent model", stall(), {}, () => {}],
  ["consecutive tool errors", toolCall("nothing"), { maxConsecutiveToolErrors: 1 }, () => {}],
])('resume: "retry-last" continues after %s', async ([, turn, limits, end]) => {
  const { options } = setUp();
  const clock = createTestClock();
  const control = createLoopControl();
  const running = runToolLoop({ ...options, provider: createMockProvider([turn]), limits, clock, control });
  await clock.flush();
  end(control);
  await clock.runAll();
  const first = await running;
  expect(["error", "timeout", "stopped-by-user"]).toContain(first.status);

  const second = await runToolLoop({
    ...options,
    provider: createMockProvider([text("Better.")]),
    journal: saved(first),
    resume: "retry-last",
    clock,
  });
  expect([second.status, second.text]).toEqual(["completed", "Better."]);
  expect(clock.pending).toBe(0);
});

it('resume: "retry-last" does not continue after an answer', async () => {
  const { options } = setUp();
  const first = await runToolLoop({ ...options, provider: createMockProvider([text("Fine.")]) });
  const provider = createMockProvider([]);
  const again = await runToolLoop({ ...options, provider, journal: saved(first), resume: "retry-last" });
  expect([again.text, provider.calls]).toEqual(["Fine.", 0]);
});

it('resume: "retry-last" does not retry a provider error that occurs in the current execution', async () => {
  const { options } = setUp();
  const provider = createMockProvider(broken);
  const result = await runToolLoop({ ...options, provider, resume: "retry-last" });
  expect([result.reason.kind, provider.calls]).toEqual(["provider-error", 2]);
});

it("a run that receives a finished run's result.journal replays its result", async () => {
  const { ran, options } = setUp();
  const first = await runToolLoop({ ...options, provider: createMockProvider([toolCall("save"), text("Done.")]) });
  const provider = createMockProvider([]);
  const again = await runToolLoop({ ...options, provider, journal: first.journal });
  expect([again.text, provider.calls, ran]).toEqual(["Done.", 0, ["call_i0_0"]]);
});

it("memoryJournal rejects saved data that is not a journal", () => {
  expect(() => memoryJournal([] as never)).toThrow(
    'Option "saved" is an array of 0 items, but must be the parsed JSON of a memory journal.',
  );
});

it('resume: "retry-last" continues after a failed iteration if the end of the run was not saved', async () => {
  const { options } = setUp();
  const first = await runToolLoop({ ...options, provider: createMockProvider(broken) });
  const { steps } = JSON.parse(JSON.stringify(first.journal));
  delete steps["i1/answered"];
  const second = await runToolLoop({
    ...options,
    provider: createMockProvider([text("Done.")]),
    journal: memoryJournal({ steps }),
    resume: "retry-last",
  });
  expect([second.status, second.text]).toEqual(["completed", "Done."]);
});

it('resume: "retry-last" does not retry tool errors that occur in the current execution', async () => {
  const { options } = setUp();
  const limits = { maxConsecutiveToolErrors: 1 };
  const first = await runToolLoop({ ...options, limits, provider: createMockProvider([toolCall("nothing")]) });
  const { steps } = JSON.parse(JSON.stringify(first.journal));
  for (const key of Object.keys(steps)) if (key !== "begin") delete steps[key];
  const provider = createMockProvider([toolCall("nothing")]);
  const second = await runToolLoop({ ...options, limits, provider, journal: memoryJournal({ steps }), resume: "retry-last" });
  expect([second.reason.kind, provider.calls]).toEqual(["tool-error-cap", 1]);
});

it("runToolLoop suggests limits.maxIterations in the error for a top-level maxIterations option", async () => {
  const refused = runToolLoop({ provider: createMockProvider([]), messages, maxIterations: 3 } as LoopOptions);
  await expect(refused).rejects.toThrow('There is no option "maxIterations". Did you mean "limits.maxIterations"?');
});

it("a replay continues a paused message that an earlier execution continued, whatever limits.maxPauses is now", async () => {
  const { options } = setUp();
  const first = await runToolLoop({
    ...options,
    provider: createMockProvider([[text("One, "), finish("paused")], text("two.")]),
  });
  const provider = createMockProvider([]);
  const again = await runToolLoop({ ...options, provider, journal: saved(first), limits: { maxPauses: 0 } });
  expect([again.reason.kind, again.text, again.messages]).toEqual(["answered", "One, two.", first.messages]);
});

it("the journal keeps both endings of a message that reaches limits.maxPauses in two executions", async () => {
  const { options } = setUp();
  const pause = (say: string): MockMessage => [text(say), finish("paused")];
  const first = await runToolLoop({ ...options, provider: createMockProvider([pause("One, ")]), limits: { maxPauses: 0 } });
  const provider = createMockProvider([pause("two, ")]);
  const second = await runToolLoop({ ...options, provider, journal: saved(first), limits: { maxPauses: 1 } });
  expect([first.reason, second.reason]).toEqual([
    { kind: "max-pauses", limit: 0 },
    { kind: "max-pauses", limit: 1 },
  ]);
  const { status, reason, text: said } = await inspectJournal(saved(second));
  expect([status, reason, said]).toEqual(["error", second.reason, "One, two,"]);
  const third = await runToolLoop({ ...options, provider: createMockProvider([text("three.")]), journal: saved(second) });
  expect([third.reason.kind, third.text]).toEqual(["answered", "One, two, three."]);
});
