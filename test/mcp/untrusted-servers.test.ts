import { describe, expect, it } from "vitest";
import { isLoopError, preToolText } from "turnwright";
import { createMcpRegistry, type McpClient } from "turnwright/mcp";
import { text, toolCall } from "turnwright/testing";
import { answersOf, play } from "../loop/play.ts";
import { closing, generations } from "./connect.ts";
import { createToolServer, says, type ServedTool } from "./tool-server.ts";

describe.for(generations)("createMcpRegistry with an untrusted server over $name", (generation) => {
  it("applies suppressFollowUpAfterText only to tools that the option names", async () => {
    const turns = [[text("Let me look."), toolCall("update_short_term_memory")], text("It is 42.")];
    const served = createToolServer([{ name: "update_short_term_memory" }], () => says("the fact"));
    const { client } = await closing(generation.connectTo(served.server));
    const registry = await createMcpRegistry({ client });
    expect((await play(turns, { tools: registry }).result).text).toBe("It is 42.");
    const said = [preToolText({ suppressFollowUpAfterText: ["update_short_term_memory"] })];
    expect((await play(turns, { tools: registry, middleware: said }).result).text).toBe("Let me look.");
  });
});

describe.for(generations)("createMcpRegistry with a server written in PHP over $name", (generation) => {
  it("lists all tools even if a tool without parameters sends an empty list as its properties", async () => {
    const ping: ServedTool = JSON.parse('{"name":"ping","inputSchema":{"type":"object","properties":[],"required":{}}}');
    const served = createToolServer([ping, { name: "look" }], () => says("done"));
    const { client } = await closing(generation.connectTo(served.server));
    const tools = await createMcpRegistry({ client });
    expect(tools.definitions().map(({ name }) => name)).toEqual(["ping", "look"]);
    expect(answersOf(await play([toolCall("ping"), text("Done.")], { tools }).result)).toMatchObject([{ result: "done" }]);
  });
});

function clientOf(tool: object, answer: unknown = { content: [{ type: "text", text: "done" }] }): McpClient {
  return {
    listTools: async () => ({ tools: [{ name: "act", inputSchema: { type: "object" }, ...tool }] }),
    callTool: async () => answer as object,
    getServerCapabilities: () => ({ tools: {} }),
    setNotificationHandler: () => {},
    removeNotificationHandler: () => {},
  };
}

it("createMcpRegistry: throws invalid-schema for a tool whose schema is nested too deeply", async () => {
  let inputSchema: object = { type: "object" };
  for (let level = 0; level < 20_000; level += 1) inputSchema = { type: "object", properties: { a: inputSchema } };
  const client = clientOf({ name: "deep", inputSchema: { ...inputSchema } });
  await expect(createMcpRegistry({ client })).rejects.toSatisfy((error) => isLoopError(error, "invalid-schema"));
});

describe("createMcpRegistry: a tool from an untrusted server", () => {
  it.for<[what: string, tool: object]>([
    ["no annotations", {}],
    ["a destructiveHint that is null", { annotations: { destructiveHint: null } }],
    ["a destructiveHint that is 0", { annotations: { destructiveHint: 0 } }],
    ["a destructiveHint that is an empty string", { annotations: { destructiveHint: "" } }],
    ["hints that are strings", { annotations: { destructiveHint: "false", readOnlyHint: "true" } }],
    ["a readOnlyHint that is a number", { annotations: { readOnlyHint: 1 } }],
    ["annotations that are null", { annotations: null }],
    ["annotations that are an array", { annotations: [{ readOnlyHint: true }] }],
    ["annotations that are a string", { annotations: "readOnlyHint" }],
  ])('needs approval if it has %s (annotations: "assumed")', async ([, tool]) => {
    const tools = await createMcpRegistry({ client: clientOf(tool), annotations: "assumed" });
    const { reason } = await play([toolCall("act"), text("Done.")], { tools }).result;
    expect(reason).toMatchObject({ kind: "approval-required", calls: [{ name: "act" }] });
  });

  it.for<[what: string, tool: object, description: string]>([
    ["a description that is null", { description: null, title: "Title" }, "Title"],
    ["a description that is an array", { description: ["Drop it."] }, "act"],
    ["a title that is a number", { title: 5, annotations: { title: "Named" } }, "Named"],
    ["an annotations.title that is an object", { annotations: { title: {} } }, "act"],
    ["an `execution` field that is null", { execution: null }, "act"],
    ["an `execution` field that is a string", { execution: "required" }, "act"],
    ["an outputSchema that is null", { outputSchema: null }, "act"],
    ["an outputSchema that is an array", { outputSchema: [] }, "act"],
    ["a _meta that is null", { _meta: null }, "act"],
  ])("is listed and can be called even with %s", async ([, tool, description]) => {
    const seen: unknown[] = [];
    const traits = (given: object): undefined => void seen.push(...Object.values(given));
    const tools = await createMcpRegistry({ client: clientOf(tool), traits });
    expect(tools.definitions()).toMatchObject([{ name: "act", description }]);
    expect(seen).not.toContain(null);
    expect(answersOf(await play([toolCall("act"), text("Done.")], { tools }).result)).toMatchObject([{ result: "done" }]);
  });
});

it.for<[isError: unknown, outcome: string]>([
  [undefined, "completed"],
  [null, "completed"],
  [false, "completed"],
  [true, "failed"],
  ["true", "failed"],
  ["false", "failed"],
  ["", "failed"],
  [1, "failed"],
  [0, "failed"],
  [{}, "failed"],
])('createMcpRegistry: for a result with isError: %j, the outcome of the call is "%s"', async ([isError, outcome]) => {
  const content = [{ type: "text", text: "Out of paper." }];
  const outputSchema = { type: "object", required: ["pages"] };
  const plain = await createMcpRegistry({ client: clientOf({}, { content, isError }) });
  expect(answersOf(await play([toolCall("act"), text("Done.")], { tools: plain }).result)).toMatchObject([{ outcome }]);
  const typed = await createMcpRegistry({ client: clientOf({ outputSchema }, { content, isError }) });
  const [answer] = answersOf(await play([toolCall("act"), text("Done.")], { tools: typed }).result);
  const reason = outcome === "failed" ? "Out of paper." : expect.stringContaining("did not return structured content");
  expect(answer).toMatchObject({ outcome: "failed", result: { reason } });
});
