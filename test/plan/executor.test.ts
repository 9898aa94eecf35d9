import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  approve,
  type Approve,
  defineAgentTool,
  eagerTools,
  type LoopOptions,
  memoryJournal,
  type Middleware,
  runToolLoop,
} from "turnwright";
import { tracing } from "turnwright/observe";
import { executePlans, planLogs, type PlanExecutor, withPlanner } from "turnwright/middleware";
import type { ExecutedCommand } from "../../src/middleware/plan/execute-plans.ts";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { createDurableStore, type Fate } from "../loop/durable-store.ts";
import { tool } from "../loop/play.ts";
import { command, execute, plan, respond } from "./plan-stage.ts";

const ran: string[] = [];
const number = z.object({ n: z.number() });
const count = tool("count", () => ran.push("count"), { inputSchema: number });
const alone = tool("alone", () => ran.push("alone"), { inputSchema: number, sequential: true });
const early = tool("early", () => ran.push("early"), { inputSchema: number, eager: true });
const pay = tool("pay", () => ran.push("pay"), { inputSchema: number, needsApproval: true });
const tools = [count, alone, pay];

const ask = (name: string, n: unknown): object => command(name, { purpose: `${name} ${String(n)}`, tool_kwargs: { n } });
const done = [respond, text("Done.")];

interface Asked {
  readonly calls: (readonly unknown[])[];
  readonly middleware: readonly Middleware[];
}

function recording(
  answer: PlanExecutor = ({ commands }) => commands.map(({ tool_kwargs }) => ({ result: Number(tool_kwargs["n"]) * 2 })),
): Asked {
  const calls: (readonly unknown[])[] = [];
  const executor: PlanExecutor = (batch) => {
    calls.push(
      batch.commands.map(({ tool_name, tool_kwargs, purpose }) => `${purpose}: ${tool_name} ${JSON.stringify(tool_kwargs)}`),
    );
    return answer(batch);
  };
  return { calls, middleware: [executePlans(executor)] };
}

describe("the executor of executePlans", () => {
  it("receives all commands of an iteration in one call, and returns their records in order", async () => {
    const { calls, middleware } = recording();
    const script = [execute(ask("count", 1), ask("count", 2)), execute(ask("count", 3)), ...done];
    const result = await plan(script, { tools, middleware }).result;
    expect(calls).toEqual([['count 1: count {"n":1}', 'count 2: count {"n":2}'], ['count 3: count {"n":3}']]);
    expect(planLogs(result).map(({ purpose, success, result: value }) => [purpose, success, value])).toEqual([
      ["count 1", true, 2],
      ["count 2", true, 4],
      ["count 3", true, 6],
    ]);
    expect([ran, result.text, result.toolCallsExecuted]).toEqual([[], "Done.", 3]);
  });

  it("is called once, even with sequential tools, eager tools and more commands than toolConcurrency", async () => {
    const { calls, middleware } = recording();
    const many = ["count", "alone", "early", "count", "alone"].map((name, n) => ask(name, n));
    const more: Partial<LoopOptions> = { tools: [...tools, early], middleware: [eagerTools(), ...middleware] };
    const result = await plan([execute(...many), ...done], { ...more, limits: { toolConcurrency: 2 } }).result;
    expect(calls.map(({ length }) => length)).toEqual([5]);
    expect(planLogs(result).map(({ result: value }) => value)).toEqual([0, 2, 4, 6, 8]);
  });

  it("does not receive refused commands, and receives the arguments from an approval", async () => {
    const { calls, middleware } = recording();
    const policy: Approve = ({ args }) => {
      const { n } = args as { readonly n: number };
      if (n === 2) return { kind: "deny", reason: "not two" };
      return n === 3 ? { kind: "modify", args: { n: 30 } } : { kind: "approve" };
    };
    const commands = [ask("count", 1), ask("count", 2), ask("count", "x"), ask("count", 3), ask("none", 4)];
    const more: Partial<LoopOptions> = { tools, middleware: [approve(policy), ...middleware], limits: { maxToolCalls: 9 } };
    const result = await plan([execute(...commands), ...done], more).result;
    expect(calls).toEqual([['count 1: count {"n":1}', 'count 3: count {"n":30}']]);
    expect(planLogs(result).map(({ success }) => success)).toEqual([true, false, false, true, false]);
  });

  it.for<[what: string, answer: PlanExecutor, errors: readonly unknown[]]>([
    ["a failed command", () => [{ success: false, error: "no" }, { result: 1 }], ["no", ""]],
    ["an exception", () => Promise.reject(new Error("gone")), ["gone", "gone"]],
    ["too few records", () => [{ result: 1 }], [expect.stringContaining("2 commands"), expect.stringContaining("1 records")]],
    ["a record that is not an object", () => ["x", { result: 1 }] as never, [expect.stringContaining("object"), ""]],
    [
      "a return value that is not an array",
      () => "x" as unknown as ExecutedCommand[],
      [expect.stringContaining("one record"), expect.stringContaining("one record")],
    ],
  ])("reports %s in the records", async ([, answer, errors]) => {
    const { middleware } = recording(answer);
    const result = await plan([execute(ask("count", 1), ask("count", 2)), ...done], { tools, middleware }).result;
    expect([result.text, planLogs(result).map(({ error }) => error)]).toEqual(["Done.", errors]);
  });

  it("receives a command that needs approval only when the run is resumed with the approval", async () => {
    const { calls, middleware } = recording();
    const first = plan([execute(ask("pay", 1), ask("count", 2))], { tools, runId: "r", middleware });
    const suspended = await first.result;
    const journal = memoryJournal(JSON.parse(JSON.stringify(suspended.journal)) as never);
    const answers = { call_i0_0: { kind: "approve" } } as const;
    const result = await plan(done, { tools, runId: "r", journal, answers, middleware }).result;
    expect([suspended.status, calls]).toEqual(["suspended", [['count 2: count {"n":2}'], ['pay 1: pay {"n":1}']]]);
    expect(planLogs(result).map(({ result: value }) => value)).toEqual([2, 4]);
  });

  it("is not called for recorded commands", async () => {
    const { calls, middleware } = recording();
    const first = plan([execute(ask("count", 1), ask("count", 2)), ...done], { tools, runId: "r", middleware });
    const { journal } = await first.result;
    const saved = memoryJournal(JSON.parse(JSON.stringify(journal)) as never);
    const again = await plan([], { tools, runId: "r", journal: saved, middleware }).result;
    expect([again.text, calls.length]).toEqual(["Done.", 1]);
  });

  it("receives a signal that fires when the run is stopped", async () => {
    let reason: unknown;
    const { middleware } = recording(
      ({ context: { signal } }) =>
        new Promise((_, reject) => {
          signal.addEventListener("abort", () => {
            reason = signal.reason;
            reject(new Error("stopped"));
          });
        }),
    );
    const playing = plan([execute(ask("count", 1), ask("count", 2)), ...done], { tools, middleware });
    playing.recording.emitter.on("tool-start", () => playing.clock.setTimeout(() => playing.control.stop(), 5));
    await playing.clock.runAll();
    expect([(await playing.result).reason.kind, reason === undefined]).toEqual(["stopped", false]);
  });

  it("leaves calls to agent tools to the loop", async () => {
    const { calls, middleware } = recording();
    const agent = defineAgentTool({
      name: "agent",
      description: "",
      inputSchema: number,
      prepare: () => ({ provider: createMockProvider([text("Asked.")]), messages: [{ role: "user", content: "Q" }] }),
    });
    const result = await plan([execute(ask("agent", 1), ask("count", 2)), ...done], { tools: [...tools, agent], middleware })
      .result;
    expect(calls).toEqual([['count 2: count {"n":2}']]);
    expect(planLogs(result).map(({ success }) => success)).toEqual([true, true]);
  });

  it("runs alongside agent tools, which keep their places in toolConcurrency", async () => {
    let [begin, end] = [(): void => {}, (): void => {}];
    const begins = new Promise<void>((resolve) => (begin = resolve));
    const ends = new Promise<void>((resolve) => (end = resolve));
    const { middleware } = recording(async ({ commands }) => {
      begin();
      await ends;
      return commands.map(() => ({ result: "sent" }));
    });
    const agent = tool("agent", (_, { step }) => step("end", () => begins.then(end)), { durable: true });
    const more: Partial<LoopOptions> = { tools: [...tools, agent], limits: { toolConcurrency: 1 }, middleware };
    const result = await plan([execute(ask("count", 1), ask("agent", 2), ask("count", 3)), ...done], more).result;
    expect(planLogs(result).map(({ success }) => success)).toEqual([true, true, true]);
  });

  it("receives no command beyond maxToolCalls", async () => {
    const { calls, middleware } = recording();
    const script = [execute(ask("count", 1), ask("count", 2), ask("count", 3)), text("Done.")];
    const result = await plan(script, { tools, middleware, limits: { maxToolCalls: 2 } }).result;
    expect(calls).toEqual([['count 1: count {"n":1}', 'count 2: count {"n":2}']]);
    expect(planLogs(result).map(({ success }) => success)).toEqual([true, true, false]);
  });

  it("does not wait for a command that other middleware holds back", async () => {
    const { calls, middleware } = recording();
    const asks: Middleware = {
      name: "asks",
      async execute(call, next, at) {
        if (JSON.stringify(call.args) === '{"n":2}') await at.wait("permission", {});
        return next(call);
      },
    };
    const more: Partial<LoopOptions> = { tools, runId: "r", middleware: [...middleware, asks] };
    const suspended = await plan([execute(ask("count", 1), ask("count", 2), ask("count", 3))], more).result;
    const journal = memoryJournal(JSON.parse(JSON.stringify(suspended.journal)) as never);
    const result = await plan(done, { ...more, journal, answers: { call_i0_1: true } }).result;
    expect(calls).toEqual([['count 1: count {"n":1}', 'count 3: count {"n":3}'], ['count 2: count {"n":2}']]);
    expect([suspended.status, planLogs(result).map(({ result: value }) => value)]).toEqual(["suspended", [2, 4, 6]]);
  });

  it("does not run calls that are not part of a plan", async () => {
    ran.length = 0;
    const { calls, middleware } = recording();
    const provider = createMockProvider([toolCall("count", { n: 1 }), text("Done.")]);
    await runToolLoop({ provider, tools, middleware, messages: [{ role: "user", content: "Go." }] });
    expect([ran, calls]).toEqual([["count"], []]);
  });

  it("must be a function", () => {
    expect(() => executePlans({} as never)).toThrow(/Option "executePlans" is .*, but must be a function/);
  });

  it("also works with tracing", async () => {
    const { calls, middleware } = recording();
    const provider = withPlanner(createMockProvider([execute(ask("count", 1), ask("count", 2)), ...done]));
    const result = await runToolLoop({
      provider,
      tools,
      middleware: [...middleware, tracing()],
      messages: [{ role: "user", content: "Go." }],
    });
    expect([result.text, calls.length]).toEqual(["Done.", 1]);
  });

  it("is called again for the failed commands of tools with retry", async () => {
    let tries = 0;
    const { calls, middleware } = recording(({ commands }) => {
      tries += 1;
      return commands.map(({ tool_name }) =>
        tool_name === "again" && tries === 1 ? { success: false, error: "busy" } : { result: tries },
      );
    });
    const again = tool("again", () => 0, { inputSchema: number, idempotent: true, retry: { maxAttempts: 2 } });
    const script = [execute(ask("again", 1), ask("count", 2)), ...done];
    const result = await plan(script, { tools: [...tools, again], middleware }).result;
    expect(calls.map(({ length }) => length)).toEqual([2, 1]);
    expect(planLogs(result).map(({ result: value }) => value)).toEqual([2, 1]);
  });

  it("continues with the rest of a plan after a crash", async () => {
    const store = createDurableStore();
    const { calls, middleware } = recording();
    const safe = tool("safe", () => 0, { inputSchema: number, replay: "safe" });
    const more = (fate?: Fate): Partial<LoopOptions> => ({ tools: [safe], runId: "r", journal: store.open(fate), middleware });
    const script = [execute(ask("safe", 1), ask("safe", 2), ask("safe", 3))];
    await expect(plan(script, more({ after: "i0/call/0/safe/outcome" })).result).rejects.toThrow("The process died.");
    const result = await plan(done, more()).result;
    expect(planLogs(result).map(({ result: value }) => value)).toEqual([2, 4, 6]);
    expect(calls[0]).toHaveLength(3);
    expect(calls.slice(1).flat()).toEqual(expect.arrayContaining(['safe 3: safe {"n":3}']));
    expect(calls.slice(1).flat()).not.toContain('safe 1: safe {"n":1}');
  });

  it("is optional: without it, each command runs its tool", async () => {
    ran.length = 0;
    await plan([execute(ask("count", 1), ask("alone", 2)), ...done], { tools: [count, alone] }).result;
    expect(ran).toEqual(["count", "alone"]);
  });
});
