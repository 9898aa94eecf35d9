import { expect, it } from "vitest";
import { type ModelRequest, onIteration, streamToolLoop } from "turnwright";
import { withPlanner } from "turnwright/middleware";
import type { PlannerOptions } from "../../src/middleware/plan/with-planner.ts";
import { createMockProvider, createTestClock, type MockMessage, scenarioTool, stall, text, wait } from "turnwright/testing";
import { never, type Playing, tool } from "../loop/play.ts";
import { linesOf, textsOf } from "../loop/transcript-lines.ts";
import { leave, playOn } from "./leaving-stage.ts";
import { command, execute, look, respond } from "./plan-stage.ts";

const verbs: readonly (readonly [verb: string, act: (playing: Pick<Playing, "control" | "abort">) => unknown])[] = [
  ["steer", ({ control }) => control.steer("Hey.")],
  ["interrupt", ({ control }) => control.interrupt("Hey.")],
  ["drain", ({ control }) => control.drain()],
  ["stop", ({ control }) => control.stop({ requester: "Ada" })],
  ["kill", ({ control }) => control.kill()],
  ["abort", ({ abort }) => abort.abort("gone")],
];

async function tellApart(turns: readonly MockMessage[]): Promise<string> {
  const rows: string[] = [];
  for (const [verb, act] of verbs) {
    const { playing, result, requests } = await leave({
      turns,
      options: ({ clock }) => ({
        tools: [look, tool("slow", () => new Promise((resolve) => clock.setTimeout(() => resolve("done"), 100)))],
      }),
      act,
    });
    const back = textsOf(result.undelivered).map((said) => `, undelivered ${said}`);
    rows.push(
      `${verb} -> ${result.reason.kind} at ${playing.endedAt()} ms, ${requests} requests${back.join("")}`,
      ...linesOf(result.messages).map((line) => `  ${line}`),
    );
  }
  return rows.join("\n");
}

const slowPlan = (first: string, rest: string): MockMessage => [text(first), wait(100), text(rest)];
const lookPlan = '"execute","execution_commands":[{"tool_name":"look"}]}';

it("withPlanner: handles each control method in the middle of a plan", async () => {
  expect(await tellApart([slowPlan('{"next_action":', lookPlan), respond, text("Done.")])).toMatchInlineSnapshot(`
    "steer -> answered at 100 ms, 3 requests
      user: Go.
      assistant: [call_i0_0]
      tool: call_i0_0 completed
      user: Hey.
      assistant: Done.
    interrupt -> interrupted at 50 ms, 1 requests
      user: Go.
    drain -> drained at 100 ms, 1 requests
      user: Go.
      assistant: [call_i0_0]
      tool: call_i0_0 completed
    stop -> stopped at 50 ms, 1 requests
      user: Go.
    kill -> killed at 50 ms, 1 requests
      user: Go.
    abort -> aborted at 50 ms, 1 requests
      user: Go."
  `);
});

it("withPlanner: handles each control method in the middle of a second plan", async () => {
  const turns = [execute(command("look")), slowPlan('{"next_action":', lookPlan), respond, text("Done.")];
  expect(await tellApart(turns)).toMatchInlineSnapshot(`
    "steer -> answered at 100 ms, 4 requests
      user: Go.
      assistant: [call_i0_0]
      tool: call_i0_0 completed
      assistant: [call_i1_0]
      tool: call_i1_0 completed
      user: Hey.
      assistant: Done.
    interrupt -> answered at 100 ms, 4 requests, undelivered Hey.
      user: Go.
      assistant: [call_i0_0]
      tool: call_i0_0 completed
      assistant: [call_i1_0]
      tool: call_i1_0 completed
      assistant: Done.
    drain -> drained at 100 ms, 2 requests
      user: Go.
      assistant: [call_i0_0]
      tool: call_i0_0 completed
      assistant: [call_i1_0]
      tool: call_i1_0 completed
    stop -> stopped at 50 ms, 2 requests
      user: Go.
      assistant: [call_i0_0]
      tool: call_i0_0 completed
    kill -> killed at 50 ms, 2 requests
      user: Go.
      assistant: [call_i0_0]
      tool: call_i0_0 completed
    abort -> aborted at 50 ms, 2 requests
      user: Go.
      assistant: [call_i0_0]
      tool: call_i0_0 completed"
  `);
});

it("withPlanner: handles each control method while planned tools run", async () => {
  expect(await tellApart([execute(command("look"), command("slow")), respond, text("Done.")])).toMatchInlineSnapshot(`
    "steer -> answered at 100 ms, 3 requests
      user: Go.
      assistant: [call_i0_0][call_i0_1]
      tool: call_i0_0 completed, call_i0_1 completed
      user: Hey.
      assistant: Done.
    interrupt -> answered at 100 ms, 3 requests, undelivered Hey.
      user: Go.
      assistant: [call_i0_0][call_i0_1]
      tool: call_i0_0 completed, call_i0_1 completed
      assistant: Done.
    drain -> drained at 100 ms, 1 requests
      user: Go.
      assistant: [call_i0_0][call_i0_1]
      tool: call_i0_0 completed, call_i0_1 completed
    stop -> stopped at 100 ms, 1 requests
      user: Go.
      assistant: [call_i0_0][call_i0_1]
      tool: call_i0_0 completed, call_i0_1 interrupted
    kill -> killed at 50 ms, 1 requests
      user: Go.
      assistant: [call_i0_0][call_i0_1]
      tool: call_i0_0 completed, call_i0_1 interrupted
    abort -> aborted at 50 ms, 1 requests
      user: Go.
      assistant: [call_i0_0][call_i0_1]
      tool: call_i0_0 completed, call_i0_1 interrupted"
  `);
});

it("withPlanner: handles each control method in the middle of the answer", async () => {
  const turns = [respond, [text("Here "), wait(100), text("you are.")]];
  expect(await tellApart(turns)).toMatchInlineSnapshot(`
    "steer -> answered at 100 ms, 4 requests
      user: Go.
      assistant: Here you are.
      user: Hey.
      assistant: More.
    interrupt -> interrupted at 50 ms, 2 requests
      user: Go.
    drain -> answered at 100 ms, 2 requests
      user: Go.
      assistant: Here you are.
    stop -> stopped at 50 ms, 2 requests
      user: Go.
      assistant: Here 
    kill -> killed at 50 ms, 2 requests
      user: Go.
      assistant: Here 
    abort -> aborted at 50 ms, 2 requests
      user: Go.
      assistant: Here "
  `);
});

it.for<[verb: string, kind: string, requests: number]>([
  ["stop", "stopped", 1],
  ["kill", "killed", 1],
  ["abort", "aborted", 1],
  ["drain", "drained", 1],
  ["steer", "answered", 3],
  ["interrupt", "answered", 3],
])('withPlanner: "%s" between two rounds ends the run with the reason "%s"', async ([verb, kind, requests]) => {
  const { result, requests: asked } = await leave({
    turns: [execute(command("look")), respond, text("Done.")],
    options: (stage) => ({
      middleware: [
        onIteration(() => {
          for (const [name, act] of verbs) if (name === verb) act(stage);
        }),
      ],
    }),
    act: () => {},
  });
  expect([result.reason.kind, asked, result.toolCallsExecuted]).toEqual([kind, requests, 1]);
});

it.for<[where: string, turns: readonly MockMessage[]]>([
  ["a plan", [[text("Let me see."), stall()]]],
  ["an answer", [respond, [text("Let me see."), stall()]]],
])("withPlanner: leaves no timer or stream if the event stream is closed in the middle of %s", async ([, turns]) => {
  const model = createMockProvider(playOn(turns));
  const clock = createTestClock();
  const stream = streamToolLoop({
    provider: withPlanner(model),
    tools: [look],
    clock,
    messages: [{ role: "user", content: "Go." }],
  });
  for await (const event of stream) {
    if (event.type !== "iteration-start") continue;
    await clock.flush();
    break;
  }
  const result = await stream.result;
  await clock.flush();
  expect([result.reason.kind, model.calls, model.active, clock.pending]).toEqual(["stopped", turns.length, 0, 0]);
});

const timeouts = { streamIdleMs: 1, firstChunkMs: 1, toolMs: 1, toolCleanupMs: 1, approvalMs: 1, callbackMs: 1 };
const request: ModelRequest = { messages: [{ role: "user", content: "Go." }], tools: [scenarioTool], iteration: 0 };

it.for<[what: string, options: PlannerOptions]>([
  ["a model", {}],
  ["a planner function", { planner: () => Promise.resolve({ next_action: "response" }) }],
  ["a planner function that never returns", { planner: () => never }],
])("withPlanner: sends no request after its stream is closed (planner: %s)", async ([, options]) => {
  for (let tick = 0; tick < 100; tick += 1) {
    const turns = "planner" in options ? [] : [text("No plan."), respond];
    const model = createMockProvider([...turns, [text("Hi."), stall()]]);
    const clock = createTestClock();
    const abort = new AbortController();
    const call = { signal: abort.signal, heartbeat: () => {}, iteration: 0, clock, timeouts };
    const iterator = withPlanner(model, options).stream(request, call)[Symbol.asyncIterator]();
    const read = async (): Promise<void> => {
      for (let end = false; !end;) end = (await iterator.next()).done === true;
    };
    const reading = read().catch(() => {});
    for (let passed = 0; passed < tick; passed += 1) await Promise.resolve();
    const asked = model.calls;
    await iterator.return?.();
    await reading;
    await clock.flush();
    expect([tick, model.calls]).toEqual([tick, asked]);
    abort.abort();
    await clock.flush();
    expect([tick, model.active]).toEqual([tick, 0]);
  }
});

it("withPlanner: does not send a request if the planner returns after an abort", async () => {
  const model = createMockProvider([text("Hi.")]);
  const abort = new AbortController();
  const call = { signal: abort.signal, heartbeat: () => {}, iteration: 0, clock: createTestClock(), timeouts };
  const planner = (): object => (abort.abort(new Error("gone")), { next_action: "response" });
  const next = withPlanner(model, { planner }).stream(request, call)[Symbol.asyncIterator]().next();
  await expect(next).rejects.toThrow("gone");
  expect(model.calls).toBe(0);
});
