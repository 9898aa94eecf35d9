import { expect, it } from "vitest";
import { ask, createLoopEvents, type ToolContext, runNested } from "turnwright";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { never, play, tool } from "./play.ts";
import { question } from "./ports/port.ts";

/** An ordinary tool has no durable verbs, whether its call is over or not. */
const refusalOf = (use: () => unknown): unknown => {
  try {
    return use();
  } catch (error) {
    return String(error);
  }
};
const onlyDurable = (verb: string): readonly [string, string] => {
  const said = `Error: The tool "t" needs "durable: true" to use context.${verb}.`;
  return [said, said];
};

type Verb = keyof ToolContext | "ask()" | "runNested()";

const verbs: { readonly [Member in Verb]: (context: ToolContext) => unknown } = {
  runId: ({ runId }) => runId,
  callId: ({ callId }) => callId,
  name: ({ name }) => name,
  iteration: ({ iteration }) => iteration,
  signal: ({ signal }) => signal.aborted,
  heartbeat: ({ heartbeat }) => heartbeat(),
  progress: ({ progress }) => progress(1n),
  emit: ({ emit }) => emit({ type: "text", text: "late" }),
  messages: ({ messages }) => messages.length,
  contextItems: ({ contextItems }) => contextItems,
  findableTools: ({ findableTools }) => findableTools,
  messageIdMap: ({ messageIdMap }) => messageIdMap,
  provider: ({ provider }) => provider,
  showKillHint: ({ showKillHint }) => showKillHint,
  suppressProgressNotices: ({ suppressProgressNotices }) => suppressProgressNotices,
  budget: ({ budget }) => budget.iterations,
  idempotencyKey: ({ idempotencyKey }) => idempotencyKey,
  session: ({ session }) => session,
  context: ({ context }) => context,
  depth: ({ depth }) => depth,
  "ask()": (context) =>
    ask(context, { question: "Which?", wait: true }).then(
      () => "answered",
      ({ message }: Error) => message,
    ),
  "runNested()": (context) =>
    runNested(context, { messages: question, provider: createMockProvider([text("In.")]) }).then(
      () => "ran",
      ({ message }: Error) => message,
    ),
  step: (context) => refusalOf(() => context.step("one", () => 1)),
  wait: (context) => refusalOf(() => context.wait("signature", {})),
  call: (context) => refusalOf(() => context.call("t", {})),
};

const expected: { readonly [Member in Verb]: readonly [answered: unknown, killed: unknown] } = {
  runId: ["late", "late"],
  callId: ["call_i0_0", "call_i0_0"],
  name: ["t", "t"],
  iteration: [0, 0],
  signal: [false, true],
  heartbeat: [undefined, undefined],
  progress: [undefined, undefined],
  emit: [undefined, undefined],
  messages: [4, 3],
  contextItems: [[], []],
  findableTools: [[], []],
  messageIdMap: [undefined, undefined],
  provider: [
    { id: "mock", model: "mock-model" },
    { id: "mock", model: "mock-model" },
  ],
  showKillHint: [false, false],
  suppressProgressNotices: [false, false],
  budget: [98, 99],
  idempotencyKey: ["late/i0/call/0/t", "late/i0/call/0/t"],
  session: [{}, {}],
  context: [undefined, undefined],
  depth: [0, 0],
  "ask()": ["The tool call has ended, so it cannot ask a question.", "The tool call has ended, so it cannot ask a question."],
  "runNested()": [
    "The tool call has ended, so it cannot start a nested run.",
    "The tool call has ended, so it cannot start a nested run.",
  ],
  step: onlyDurable("step"),
  wait: onlyDurable("wait"),
  call: onlyDurable("call"),
};

it.for(Object.keys(verbs) as Verb[])(
  "a tool that uses %s from its context after the run emits no event and starts no timer",
  async (member) => {
    for (const [index, isKilled] of [false, true].entries()) {
      let context: ToolContext | undefined;
      const events = createLoopEvents();
      let told = 0;
      for (const type of ["tool-progress", "tool-emit", "question-asked", "run-start", "listener-error"] as const)
        events.on(type, () => (told += 1));
      const keeper = tool("t", (_, given) => {
        context = given;
        return isKilled ? never : 1;
      });
      const { clock, result, control } = play([toolCall("t"), text("Done.")], { tools: [keeper], events, runId: "late" });
      await clock.advance(1);
      if (isKilled) control.kill();
      await result;
      told = 0;
      if (context === undefined) throw new Error("The tool was not called.");
      expect(await verbs[member](context)).toEqual(expected[member][index]);
      await clock.flush();
      expect([told, clock.pending]).toEqual([0, 0]);
    }
  },
);
