import { describe, expect, it } from "vitest";
import { isLoopError } from "turnwright";
import { createMcpRegistry, type McpClient } from "turnwright/mcp";
import { text, toolCall } from "turnwright/testing";
import { answersOf, play } from "../loop/play.ts";
import { closing, generations } from "./connect.ts";
import { createToolServer, says } from "./tool-server.ts";

describe.for(generations)("createMcpRegistry over $name: untrusted server", (generation) => {
  it("does not end a run because of a tool's name, unless the caller allows it", async () => {
    const turns = [[text("Let me look."), toolCall("update_short_term_memory")], text("It is 42.")];
    const served = createToolServer([{ name: "update_short_term_memory" }], () => says("the fact"));
    const { client } = await closing(generation.connectTo(served.server));
    const registry = await createMcpRegistry({ client });
    expect((await play(turns, { tools: registry }).result).text).toBe("It is 42.");
    const said = { preToolText: { suppressFollowUpAfterText: ["update_short_term_memory"] } };
    expect((await play(turns, { tools: registry, policies: said }).result).text).toBe("Let me look.");
  });
});

/** Creates a client that returns one tool and one result without checking them. */
function clientOf(tool: object, answer: unknown = { content: [{ type: "text", text: "done" }] }): McpClient {
  return {
    listTools: async () => ({ tools: [{ name: "act", inputSchema: { type: "object" }, ...tool }] }),
    callTool: async () => answer as object,
    getServerCapabilities: () => ({ tools: {} }),
    setNotificationHandler: () => {},
    removeNotificationHandler: () => {},
  };
}

it("createMcpRegistry: throws invalid-schema for a schema that is nested too deeply", async () => {
  let inputSchema: object = { type: "object" };
  for (let level = 0; level < 20_000; level += 1) inputSchema = { type: "object", properties: { a: inputSchema } };
  const client = clientOf({ name: "deep", inputSchema: { ...inputSchema } });
  await expect(createMcpRegistry({ client })).rejects.toSatisfy((error) => isLoopError(error, "invalid-schema"));
});

describe("createMcpRegistry: a tool with fields of the wrong type", () => {
  it.for<[what: string, tool: object]>([
    ["no hint", {}],
    ["a hint that is null", { annotations: { destructiveHint: null } }],
    ["a hint that is 0", { annotations: { destructiveHint: 0 } }],
    ["a hint that is an empty string", { annotations: { destructiveHint: "" } }],
    ["a hint that is a string", { annotations: { destructiveHint: "false", readOnlyHint: "true" } }],
    ["a hint that is a number", { annotations: { readOnlyHint: 1 } }],
    ["annotations that are null", { annotations: null }],
    ["annotations that are a list", { annotations: [{ readOnlyHint: true }] }],
    ["annotations that are a string", { annotations: "readOnlyHint" }],
  ])("needs approval with assumed annotations and %s", async ([, tool]) => {
    const tools = await createMcpRegistry({ client: clientOf(tool), annotations: "assumed" });
    const { reason } = await play([toolCall("act"), text("Done.")], { tools }).result;
    expect(reason).toMatchObject({ kind: "approval-required", calls: [{ name: "act" }] });
  });

  it.for<[what: string, tool: object, description: string]>([
    ["a description that is null", { description: null, title: "Title" }, "Title"],
    ["a description that is a list", { description: ["Drop it."] }, "act"],
    ["a title that is a number", { title: 5, annotations: { title: "Named" } }, "Named"],
    ["a title of annotations that is an object", { annotations: { title: {} } }, "act"],
    ["an execution that is null", { execution: null }, "act"],
    ["an execution of another kind", { execution: "required" }, "act"],
    ["an output schema that is null", { outputSchema: null }, "act"],
    ["an output schema that is a list", { outputSchema: [] }, "act"],
    ["a _meta that is null", { _meta: null }, "act"],
  ])("is listed and can be called with %s", async ([, tool, description]) => {
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
])("createMcpRegistry: a call whose result has isError %j is %s", async ([isError, outcome]) => {
  const content = [{ type: "text", text: "Out of paper." }];
  const outputSchema = { type: "object", required: ["pages"] };
  const plain = await createMcpRegistry({ client: clientOf({}, { content, isError }) });
  expect(answersOf(await play([toolCall("act"), text("Done.")], { tools: plain }).result)).toMatchObject([{ outcome }]);
  const typed = await createMcpRegistry({ client: clientOf({ outputSchema }, { content, isError }) });
  const [answer] = answersOf(await play([toolCall("act"), text("Done.")], { tools: typed }).result);
  const reason = outcome === "failed" ? "Out of paper." : expect.stringContaining("did not return structured content");
  expect(answer).toMatchObject({ outcome: "failed", result: { reason } });
});
