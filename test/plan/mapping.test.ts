// Tests each statement of Agently's page on its tool runtime in a run of its own. docs/sources/plan.md refers to this file.

import { expect, it } from "vitest";
import { createToolRegistry } from "turnwright";
import { type Planner, planLogs, type PlanRecord } from "turnwright/middleware";
import { finish, text } from "turnwright/testing";
import { createDurableStore } from "../loop/durable-store.ts";
import { tool } from "../loop/play.ts";
import { add, command, execute, look, plan, respond, shownTo } from "./plan-stage.ts";

const sum = command("add", { purpose: "the sum", tool_kwargs: { a: 19, b: 23 } });
const asText = (made: object): ReturnType<typeof text> => text(JSON.stringify(made));
const field = (name: string, records: unknown): readonly unknown[] =>
  (records as readonly { readonly [name: string]: unknown }[]).map((record) => record[name]);

it("withPlanner: plans, runs tools and answers in a single run", async () => {
  const { result, model } = plan([execute(sum), respond, text("It is 42.")]);
  const { reason, text: said, iterations } = await result;
  expect([reason.kind, said, iterations, model.calls]).toEqual(["answered", "It is 42.", 2, 3]);
});

it("withPlanner: sends planning requests without tools", async () => {
  const { result, model, recording } = plan([execute(sum), respond, text("It is 42.")]);
  await result;
  expect(model.requests.map(({ tools }) => tools)).toEqual([[], [], []]);
  expect(model.requests.map(({ system = "" }) => system.includes('"next_action"'))).toEqual([true, true, false]);
  expect(recording.of("text-delta").map((event) => event.text)).toEqual(["It is 42."]);
});

it("withPlanner: runs a plan's commands as the iteration's tool calls", async () => {
  const { result, recording } = plan([execute(sum, command("look")), respond, text("42, and quiet.")]);
  const { functionHistory } = await result;
  expect(recording.of("tool-start").map(({ name, iteration }) => [name, iteration])).toEqual([
    ["add", 0],
    ["look", 0],
  ]);
  expect(functionHistory.map(({ functionResponse }) => functionResponse.response.result)).toEqual([42, "a quiet place"]);
});

it("withPlanner: a resumed run keeps the finished rounds without requesting a plan again", async () => {
  const store = createDurableStore();
  const script = [execute(sum), execute(command("look")), respond, text("42, and quiet.")];
  const options = { runId: "planned" };
  const died = plan(script, { ...options, journal: store.open({ within: "i1/request/model" }) });
  await expect(died.result).rejects.toThrow("The process died.");

  const { result, model } = plan(script.slice(1), { ...options, journal: store.open() });
  expect((await result).text).toBe("42, and quiet.");
  expect([model.calls, shownTo(model.requests[0])["round_index"], shownTo(model.requests[1])["round_index"]]).toEqual([3, 1, 2]);
});

it("withPlanner: the planning request contains all records, the records of the last round, and the round index", async () => {
  const { result, model } = plan([execute(sum, command("look")), execute(sum), respond, text("42.")]);
  await result;
  const shown = model.requests.slice(0, 3).map(shownTo);
  expect(shown.map(({ done_plans }) => field("tool_name", done_plans))).toEqual([[], ["add", "look"], ["add", "look", "add"]]);
  expect(shown.map(({ last_round_records }) => field("tool_name", last_round_records))).toEqual([[], ["add", "look"], ["add"]]);
  expect(shown.map(({ round_index }) => round_index)).toEqual([0, 1, 2]);
});

it.for<[name: string, shown: unknown]>([
  ["user_input", "Go."],
  ["user_extra_requirement", "Be quick."],
  ["available_tools", [add, look].map(({ name, description }) => expect.objectContaining({ tool_name: name, description }))],
  ["done_plans", []],
  ["last_round_records", []],
  ["round_index", 0],
  ["max_rounds", 3],
])("withPlanner: the planning request contains the field %s", async ([name, shown]) => {
  const { result, model } = plan([respond, text("Gone.")], {}, { extraRequirement: "Be quick.", maxRounds: 3 });
  await result;
  expect(shownTo(model.requests[0])[name]).toEqual(shown);
});

it("withPlanner: options.planner makes the plans instead of the model", async () => {
  const seen: string[] = [];
  const planner: Planner = ({ userInput, donePlans }) => {
    seen.push(`${userInput} ${donePlans.length}`);
    return donePlans.length === 0 ? { tool_command: sum } : {};
  };
  const { result, model } = plan([text("It is 42.")], {}, { planner });
  expect((await result).functionHistory.map(({ functionCall }) => functionCall.name)).toEqual(["add"]);
  expect([seen, model.calls]).toEqual([["Go. 0", "Go. 1"], 1]);
});

it.for<[form: string, made: object, calls: readonly string[]]>([
  ["next_action and execution_commands", { next_action: "execute", execution_commands: [sum, command("look")] }, ["add", "look"]],
  ["tool_commands", { next_action: "execute", tool_commands: [sum, command("look")] }, ["add", "look"]],
  [
    "tool_commands next to an empty execution_commands",
    { next_action: "execute", execution_commands: [], tool_commands: [sum] },
    ["add"],
  ],
  ["a single tool_command", { next_action: "execute", tool_command: sum }, ["add"]],
  ["commands without an action", { execution_commands: [sum] }, ["add"]],
  ["an unknown action with commands", { next_action: "go on", execution_commands: [sum] }, ["add"]],
  ["no action and no commands", { execution_commands: [] }, []],
])("withPlanner: accepts a plan that has %s", async ([, made, calls]) => {
  const { result } = plan([asText(made), ...(calls.length > 0 ? [respond] : []), text("Done.")]);
  const { functionHistory, text: said } = await result;
  expect([functionHistory.map(({ functionCall }) => functionCall.name), said]).toEqual([calls, "Done."]);
});

it.for<[what: string, made: object]>([
  ['has the next_action "response"', { next_action: "response", execution_commands: [sum] }],
  ["has use_tool: false", { use_tool: false, next_action: "execute", execution_commands: [sum] }],
  ["has no commands", { next_action: "execute", execution_commands: [] }],
  ["has only commands without a tool name", { next_action: "execute", execution_commands: [command(" ")] }],
])("withPlanner: requests the answer after a plan that %s", async ([, made]) => {
  const { result, model } = plan([asText(made), text("Done.")]);
  const { text: said, iterations, toolCallsExecuted } = await result;
  expect([said, iterations, toolCallsExecuted, model.calls]).toEqual(["Done.", 1, 0, 2]);
});

it("withPlanner: requests the answer without a plan after maxRounds", async () => {
  const { result, model } = plan(
    (_request, index) => (index < 2 ? execute(sum) : text("As far as I got: 42.")),
    {},
    { maxRounds: 2 },
  );
  const { reason, text: said, toolCallsExecuted } = await result;
  expect([reason.kind, said, toolCallsExecuted, model.calls]).toEqual(["answered", "As far as I got: 42.", 2, 3]);
});

it('withPlanner: requests a missing plan again before the run ends with the error "no-output"', async () => {
  const { result, model } = plan([execute(sum), text("Hm."), text("I would say 42.")], {}, { planRetries: 1 });
  const ended = await result;
  expect(ended.reason).toMatchObject({ kind: "provider-error", error: { code: "no-output" } });
  expect([ended.text, model.calls, field("result", planLogs(ended))]).toEqual(["", 3, [42]]);
});

it("withPlanner: keeps every field of a command in its record", async () => {
  const all = { ...sum, todo_suggestion: "check it", next: "then say it" };
  const { result } = plan([execute(all), respond, text("42.")]);
  const record: PlanRecord = {
    purpose: "the sum",
    tool_name: "add",
    kwargs: { a: 19, b: 23 },
    todo_suggestion: "check it",
    next: "then say it",
    success: true,
    result: 42,
    error: "",
  };
  expect(planLogs(await result)).toEqual([record]);
});

it.for<[what: string, name: string, error: string]>([
  ["fails", "fail", "out of order"],
  ["hangs", "hang", "timed out after 1000 ms"],
  ["does not exist", "missing", 'There is no tool "missing".'],
])("withPlanner: records a call as unsuccessful and continues if the tool %s", async ([, name, error]) => {
  const fail = tool("fail", () => Promise.reject(new Error("out of order")));
  const hang = tool("hang", () => new Promise(() => {}), { timeoutMs: 1_000 });
  const { result, model, clock } = plan([execute(command(name), sum), respond, text("42.")], { tools: [add, fail, hang] });
  await clock.advance(1_000);
  const [failed, summed] = planLogs(await result);
  expect(failed).toMatchObject({ success: false, result: null, error: expect.stringContaining(error) });
  expect(summed).toMatchObject({ success: true, result: 42, error: "" });
  expect(shownTo(model.requests[1])["last_round_records"]).toEqual([failed, summed]);
});

it("withPlanner: records a successful call as a success even if its result resembles an error", async () => {
  const grep = tool("grep", () => "Error: 404");
  const { result } = plan([execute(command("grep")), respond, text("Found.")], { tools: [grep] });
  expect(planLogs(await result)).toMatchObject([{ success: true, result: "Error: 404", error: "" }]);
});

it.for([1, 2, 3])("withPlanner: runs at most limits.toolConcurrency commands concurrently (%d)", async (toolConcurrency) => {
  let now = 0;
  let most = 0;
  const step = tool("step", async () => {
    now += 1;
    most = Math.max(most, now);
    await Promise.resolve();
    now -= 1;
  });
  const steps = [1, 2, 3, 4].map((at) => command("step", { tool_kwargs: { at } }));
  const { result } = plan([execute(...steps), respond, text("Done.")], { tools: [step], limits: { toolConcurrency } });
  await result;
  expect(most).toBe(toolConcurrency);
});

it("withPlanner: runs commands through a custom registry", async () => {
  const inner = createToolRegistry([add]);
  const ran: string[] = [];
  const tools = {
    ...inner,
    executeTool: (...call: Parameters<typeof inner.executeTool>) => {
      ran.push(call[0]);
      return inner.executeTool(...call);
    },
  };
  const { result } = plan([execute(sum, sum), respond, text("42, twice.")], { tools });
  expect([planLogs(await result).map((record) => record.result), ran]).toEqual([
    [42, 42],
    ["add", "add"],
  ]);
});

it("withPlanner: the request for the answer contains an instruction and the grouped results", async () => {
  const script = [execute(sum, sum, command("missing", { purpose: "" })), respond, text("42.")];
  const { result, model } = plan(script, {}, { extraInstruction: "Say it in a word." });
  await result;
  expect(shownTo(model.requests.at(-1))).toEqual({
    action_results: { "the sum": 42, "the sum (2)": 42, missing: { error: expect.stringContaining("no tool") } },
    extra_instruction: "Say it in a word.",
  });
});

it("withPlanner: the request for the answer contains only the conversation if no tool has run", async () => {
  const { result, model } = plan([respond, text("Hello.")]);
  await result;
  expect(model.requests[1]).toMatchObject({ messages: [{ role: "user", content: "Go." }], system: undefined });
});

it("planLogs: returns every record of a run that ended without an answer", async () => {
  const { result } = plan([execute(sum, sum), execute(sum), [text("{"), finish("content-filter")]]);
  const ended = await result;
  expect([ended.reason.kind, field("result", planLogs(ended))]).toEqual(["content-filter", [42, 42, 42]]);
});
