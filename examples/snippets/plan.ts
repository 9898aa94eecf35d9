// Gives tools to a model that cannot call tools. Shows plans, their records, and a custom planner, prompt and executor.

import assert from "node:assert/strict";
import {
  approve,
  type Approve,
  createToolRegistry,
  defineTool,
  type Json,
  type Provider,
  runToolLoop,
  type ToolRegistry,
  withFallback,
  withRetry,
} from "turnwright";
import {
  executePlans,
  type PlanExecutor,
  type Planner,
  planLogs,
  plannerPrompt,
  type PlanRecord,
  withPlanner,
} from "turnwright/middleware";
import { createMockProvider, fail, text, toolCall } from "turnwright/testing";
import { z } from "zod";

const readTide = defineTool({
  name: "read_tide",
  description: "When the tide is high in a port, and how high",
  inputSchema: z.object({ port: z.string() }),
  execute: ({ port }) => {
    if (port !== "Bergen") throw new Error(`no gauge in ${port}`);
    return { high: "14:10", metres: 1.4 };
  },
});
const tools = [readTide];
const messages = [{ role: "user", content: "May we sail at two?" }] as const;
const tideOf = (port: string): object => ({ purpose: `tide in ${port}`, tool_name: "read_tide", tool_kwargs: { port } });
const planned = JSON.stringify({ next_action: "execute", execution_commands: [tideOf("Bergen"), tideOf("Oslo")] });
const answer = '{ "next_action": "response" }';
const play = (): Provider => createMockProvider([text(planned), text(answer), text("Yes: it is high at 14:10.")]);

{
  const provider = play();
  // #region use
  const result = await runToolLoop({ provider: withPlanner(provider, { maxRounds: 3 }), tools, messages });
  // `result.text` is "Yes: it is high at 14:10."
  // #endregion use
  assert.equal(result.text, "Yes: it is high at 14:10.");

  const shown: PlanRecord[] = [];
  const console = { log: (record: PlanRecord): void => void shown.push(record) };
  // #region logs
  for (const record of planLogs(result)) console.log(record);
  // { purpose: "tide in Bergen", tool_name: "read_tide", kwargs: { port: "Bergen" }, todo_suggestion: "", next: "",
  //   success: true, result: { high: "14:10", metres: 1.4 }, error: "" }
  // { purpose: "tide in Oslo", ..., success: false, result: null, error: "no gauge in Oslo" }
  // #endregion logs
  const rest = { tool_name: "read_tide", todo_suggestion: "", next: "" };
  assert.deepEqual(shown, [
    {
      ...{ ...rest, purpose: "tide in Bergen", kwargs: { port: "Bergen" } },
      ...{ success: true, result: { high: "14:10", metres: 1.4 }, error: "" },
    },
    { ...rest, purpose: "tide in Oslo", kwargs: { port: "Oslo" }, success: false, result: null, error: "no gauge in Oslo" },
  ]);
}

{
  const model = createMockProvider([text("Yes: it is high at 14:10.")]);
  // #region planner
  const planner: Planner = async ({ userInput, donePlans, availableTools }, { signal }) => {
    if (donePlans.length > 0) return { next_action: "response" };
    const port = await findPort(userInput, { signal });
    const isThere = availableTools.some(({ name }) => name === "read_tide");
    return isThere ? { tool_command: { purpose: "the tide", tool_name: "read_tide", tool_kwargs: { port } } } : {};
  };
  const provider = withPlanner(model, { planner });
  // #endregion planner
  const result = await runToolLoop({ provider, tools, messages });
  assert.deepEqual([result.text, planLogs(result).map(({ success }) => success)], ["Yes: it is high at 14:10.", [true]]);
}

async function findPort(_userInput: string, { signal }: { readonly signal: AbortSignal }): Promise<string> {
  signal.throwIfAborted();
  return Promise.resolve("Bergen");
}

{
  const model = createMockProvider([text(planned), text(answer), text("Ja.")]);
  const provider = withPlanner(model, {
    prompt: (input) => {
      const { system, user } = plannerPrompt(input);
      return { system: `${system}\n- Write "purpose" in the language of the user.`, user };
    },
  });
  assert.equal((await runToolLoop({ provider, tools, messages })).text, "Ja.");
  assert.match(model.requests[0]?.system ?? "", /language of the user\.$/);
}

{
  const provider = withPlanner(play());
  const ran: Json[] = [];
  const runInSandbox = async (name: string, run: () => unknown): Promise<unknown> => {
    ran.push(name);
    return run();
  };
  const inner = createToolRegistry(tools);
  const sandboxed: ToolRegistry = {
    ...inner,
    executeTool: (name, args, context) => runInSandbox(name, () => inner.executeTool(name, args, context)),
  };
  const result = await runToolLoop({ provider, tools: sandboxed, messages });
  assert.equal(result.status, "completed");
  assert.deepEqual(ran, ["read_tide", "read_tide"]);
}

{
  const model = play();
  const sent: unknown[] = [];
  const batches = {
    async run(calls: readonly object[], _: { signal: AbortSignal }): Promise<readonly { readonly value: Json }[]> {
      sent.push(...calls);
      return calls.map((_call, index) => ({ value: { high: `1${index}:10` } }));
    },
  };
  // #region batch
  const executor: PlanExecutor = async ({ commands, context: { signal } }) => {
    const calls = commands.map(({ tool_name, tool_kwargs }) => ({ tool_name, tool_kwargs }));
    const answers = await batches.run(calls, { signal }); // one request for the whole plan
    return answers.map(({ value }) => ({ result: value })); // or { success: false, error: "why" }
  };
  const provider = withPlanner(model);
  const result = await runToolLoop({ provider, tools, messages, middleware: [executePlans(executor)] });
  // #endregion batch
  assert.deepEqual(
    [sent.length, planLogs(result).map(({ result: value }) => value)],
    [2, [{ high: "10:10" }, { high: "11:10" }]],
  );
}

{
  const model = play();
  const policy: Approve = ({ args }) =>
    JSON.stringify(args).includes("Oslo") ? { kind: "deny", reason: "too far" } : { kind: "approve" };
  const result = await runToolLoop({
    provider: withPlanner(model),
    tools,
    messages,
    limits: { toolConcurrency: 2, maxToolCalls: 20 },
    middleware: [approve(policy)], // denies calls for Oslo with the reason "too far"
  });
  const errors = planLogs(result).map(({ error }) => error);
  // `errors` is ["", "too far"].
  assert.deepEqual(errors, ["", "too far"]);
}

{
  const caller = createMockProvider([toolCall("read_tide", { port: "Bergen" }), fail({ status: 401 })]);
  const plain = createMockProvider([text(answer), text("Yes.")], { id: "plain" });
  const provider = withFallback([caller, withPlanner(withRetry(plain))]);
  const result = await runToolLoop({ provider, tools, messages });
  assert.equal(result.text, "Yes.");
  assert.match(JSON.stringify(plain.requests.at(-1)?.messages), /14:10/);
}

{
  // #region test
  const model = createMockProvider([
    text('{ "tool_command": { "tool_name": "read_tide", "tool_kwargs": { "port": "Bergen" } } }'), // a plan
    text('{ "next_action": "response" }'), // the next plan; the answer follows in the same iteration
    text("Yes: it is high at 14:10."), // the answer
  ]);
  const result = await runToolLoop({ provider: withPlanner(model), tools, messages });
  assert.deepEqual([result.text, result.iterations, model.calls], ["Yes: it is high at 14:10.", 2, 3]);
  // #endregion test
}
