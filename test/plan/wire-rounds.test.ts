import { LLMock } from "@copilotkit/aimock";
import { type LoopOptions, type LoopResult, runToolLoop } from "turnwright";
import { planLogs, withPlanner } from "turnwright/middleware";
import type { PlannerOptions } from "../../src/middleware/plan/with-planner.ts";
import { describe, expect, it, onTestFinished } from "vitest";
import { type Scripted, type Wire, wires } from "../wire/all-wires.ts";
import { userTextsIn } from "../wire/read-body.ts";
import { startRawServer } from "../wire/raw-sse-server.ts";
import { add, command, lastPartOf, look } from "./plan-stage.ts";
import { createCountingFetch, textWires } from "./wire-stage.ts";

const execute = (...commands: readonly object[]): string =>
  `First the tools.\n\`\`\`json\n${JSON.stringify({ next_action: "execute", execution_commands: commands })}\n\`\`\``;
const respond = '{"next_action":"response","execution_commands":[]}';
const say = (text: string): Scripted => ({ text, end: "stop" });

const firstPlan = execute(
  command("add", { tool_kwargs: { a: 1, b: 2 }, purpose: "the sum" }),
  command("look", { purpose: "the place" }),
);
const secondPlan = execute(command("add", { tool_kwargs: { a: 3, b: 4 }, purpose: "the next sum" }));
const script: readonly Scripted[] = [say(firstPlan), say(secondPlan), say(respond), say("3, then 7.")];

interface Played {
  readonly result: LoopResult;
  readonly bodies: readonly unknown[];
}

async function play(
  wire: Wire,
  turns: readonly Scripted[],
  { planning = {}, ...more }: Partial<LoopOptions> & { readonly planning?: PlannerOptions } = {},
): Promise<Played> {
  const server = await startRawServer(turns.map((turn) => wire.toReply(turn)));
  onTestFinished(() => server.close());
  const { provider, bodies } = wire.connect(server.url);
  const result = await runToolLoop({
    provider: withPlanner(provider, planning),
    tools: [add, look],
    system: "Be brief.",
    messages: [{ role: "user", content: "Add." }],
    ...more,
  });
  expect(bodies.flatMap((body) => wire.check(body))).toEqual([]);
  expect(bodies.flatMap(findTools)).toEqual([]);
  return { result, bodies };
}

const toolWords = new Set(["tools", "tool_choice", "tool_calls", "tool_call_id"]);
const toolKinds = new Set<unknown>(["tool", "tool_use", "tool_result", "function"]);

function findTools(value: unknown): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    const isOfTools = toolWords.has(key) || ((key === "role" || key === "type") && toolKinds.has(inner));
    return [...(isOfTools ? [`${key}: ${JSON.stringify(inner)}`] : []), ...findTools(inner)];
  });
}

/** Returns the part of a request body after the text of the user, for every API. */
function lastWordsIn(body: unknown): string {
  return lastPartOf(userTextsIn(body).at(-1) ?? "");
}

describe.for(wires)("withPlanner over $name with two rounds", (wire) => {
  it("sends four requests for two plans, all without tools", async () => {
    const { result, bodies } = await play(wire, script);
    expect([result.reason.kind, result.text, result.iterations, bodies.length]).toEqual(["answered", "3, then 7.", 3, 4]);
    expect(planLogs(result).map(({ purpose, result: given }) => [purpose, given])).toEqual([
      ["the sum", 3],
      ["the place", "a quiet place"],
      ["the next sum", 7],
    ]);
    expect(
      result.streamResults.map(({ providerMetadata }) => JSON.stringify(providerMetadata).split("turnwright.plan").length - 1),
    ).toEqual([1, 1, 1]);
    const [, second = "{}", third = "{}", answer = "{}"] = bodies.map(lastWordsIn);
    expect(JSON.parse(second)).toMatchObject({
      round_index: 1,
      last_round_records: [{ result: 3 }, { result: "a quiet place" }],
    });
    expect(JSON.parse(third)).toMatchObject({ round_index: 2, last_round_records: [{ result: 7 }], done_plans: [{}, {}, {}] });
    expect(JSON.parse(answer).action_results).toEqual({ "the sum": 3, "the place": "a quiet place", "the next sum": 7 });
  });

  it("adds up the usage of all four requests", async () => {
    const { result } = await play(wire, script, { planning: { closesEarly: false } });
    expect(result.usage).toMatchObject({ inputTokens: 4 * 3, outputTokens: 4 * 2, totalTokens: 4 * 5 });
    expect(result.streamResults.map(({ usage }) => usage?.totalTokens)).toEqual([5, 5, 10]);
  });

  it("sends a follow-up run the messages and results of the earlier run", async () => {
    const { result } = await play(wire, script);
    const messages = [...result.messages, { role: "user" as const, content: "Again." }];
    const { result: next, bodies } = await play(wire, [say(secondPlan), say(respond), say("7.")], { messages });
    expect([next.text, bodies.length]).toEqual(["7.", 3]);
    expect(JSON.parse(lastWordsIn(bodies[0]))).toMatchObject({ user_input: "Again.", round_index: 0, done_plans: [] });
    const shown = JSON.stringify(bodies[0]);
    const order = ["Add.", "the next sum", "3, then 7.", "Again."].map((words) => shown.indexOf(words));
    expect(order).toEqual([...order].sort((a, b) => a - b));
    expect(order).not.toContain(-1);
  });

  it("keeps the records of earlier rounds if a planning request fails", async () => {
    const { result, bodies } = await play(wire, [say(firstPlan), { status: 401, message: "Who are you?" }]);
    expect([result.error?.code, bodies.length, planLogs(result).length]).toEqual(["auth", 2, 2]);
  });

  it.for<[what: string, turn: Scripted, code: string]>([
    ["ends early", { text: '{"next_action":"exec', end: "lost" }, "stream-ended-early"],
    ["contains an error", { text: '{"next_action":"exec', end: "broken" }, "overloaded"],
    ["loses its connection", { text: '{"next_action":"exec', end: "dropped" }, "network"],
  ])("ends with an error and runs no command of a plan whose stream %s", async ([, turn, code]) => {
    const { result, bodies } = await play(wire, [say(firstPlan), turn]);
    expect([result.error?.code, result.toolCallsExecuted, bodies.length]).toEqual([code, 2, 2]);
  });
});

describe.for(textWires)("withPlanner over $name with a vendor's mock server", (wire) => {
  it("runs two rounds and reads only part of a long plan", async () => {
    const mock = new LLMock({ port: 0, chunkSize: 1_000, strict: true });
    const shows = (words: string) => ({ predicate: (request: object) => lastWordsIn(request).includes(words) });
    mock.on(shows('"round_index": 0'), { content: firstPlan });
    mock.on(shows('"round_index": 1'), { content: secondPlan });
    mock.on(shows('"round_index": 2'), { content: `{"next_action":"response","note":"${"x".repeat(500_000)}"}` });
    mock.on(shows('"action_results"'), { content: "3, then 7." });
    await mock.start();
    // `stop` resolves only after the client has closed an unused connection, so the test does not wait for `stop`.
    onTestFinished(() => void mock.stop());
    const { fetch, read } = createCountingFetch();
    const provider = withPlanner(wire.connect(mock.url, fetch));
    const result = await runToolLoop({ provider, tools: [add, look], messages: [{ role: "user", content: "Add." }] });
    expect([result.reason.kind, result.text, result.toolCallsExecuted, read.length]).toEqual(["answered", "3, then 7.", 3, 4]);
    expect(read[2]).toBeLessThan(250_000);
  });
});
