import { describe, expect, it, vi } from "vitest";
import type { Json } from "turnwright";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { createMcpRegistry } from "turnwright/mcp";
import { answersOf, play } from "../loop/play.ts";
import { setUp, untilCancelled } from "./call-stage.ts";
import { generations } from "./connect.ts";
import { type Answer, says } from "./tool-server.ts";

describe("createMcpRegistry", () => {
  const refused = Object.assign(new Error("connect ECONNREFUSED 127.0.0.1:9"), { code: "ECONNREFUSED" });
  const client = {
    listTools: async () => ({ tools: [{ name: "act", inputSchema: { type: "object" as const } }] }),
    callTool: async () => Promise.reject(new TypeError("fetch failed", { cause: refused })),
    getServerCapabilities: () => ({ tools: {} }),
    setNotificationHandler: () => {},
    removeNotificationHandler: () => {},
  };

  it("says why a server cannot be reached", async () => {
    const tools = await createMcpRegistry({ client, listChanged: false });
    const result = await play([toolCall("act"), text("Done.")], { tools }).result;
    expect(answersOf(result)).toMatchObject([
      { result: { reason: "The MCP server returned no result: fetch failed: connect ECONNREFUSED 127.0.0.1:9" } },
    ]);
  });

  it("suggests createMcpRegistry({ client }) if it receives the client itself", async () => {
    await expect(createMcpRegistry(client as never)).rejects.toThrow(
      'Option "options" is the client itself, but must be an object with the client. Write: createMcpRegistry({ client }).',
    );
  });
});

describe.for(generations)("createMcpRegistry: a call over $name", (generation) => {
  it("fails immediately if the server closes the connection, without ending the run", async () => {
    const { served, start } = await setUp(generation, [{ name: "act" }], { answer: untilCancelled });
    const playing = start(["act"]);
    await vi.waitFor(() => expect(served.calls).toHaveLength(1));
    await served.server.close();
    const result = await playing.result;
    expect(result.text).toBe("Done.");
    expect(answersOf(result)).toMatchObject([
      { outcome: "failed", result: { reason: expect.stringMatching(/^The MCP server returned no result: .*Connection closed/) } },
    ]);
    const next = await start(["act"]).result;
    expect(answersOf(next)).toMatchObject([
      { outcome: "failed", result: { reason: "The MCP server returned no result: Not connected" } },
    ]);
  });

  it.for<[what: string, answer: Answer, reason: string | RegExp]>([
    [
      "a server error, without the credential in the message",
      () => {
        throw new Error("401 for Bearer abcdef0123456789");
      },
      /returned no result: .*401 for Bearer \[redacted\]$/,
    ],
    [
      "a tool error, without the credential in the message",
      () => ({ isError: true, content: [{ type: "text", text: "No access with sk-abc123def456." }] }),
      "No access with [redacted].",
    ],
    ["an error without text", () => ({ isError: true, content: [] }), "The tool reported an error without a message."],
    [
      "a result that does not match the output schema",
      () => ({ content: [], structuredContent: { celsius: "warm" } }),
      /does not match/,
    ],
    ["a result without structured content", () => says("7 degrees"), /did not return structured content/],
    ["an invalid result", () => ({ content: "7 degrees" }) as never, /returned no result: /],
  ])("tells the model about %s", async ([, answer, reason]) => {
    const outputSchema = { type: "object" as const, properties: { celsius: { type: "number" } }, required: ["celsius"] };
    const { start } = await setUp(generation, [{ name: "act", outputSchema }], { answer });
    const result = await start(["act"]).result;
    expect(result.text).toBe("Done.");
    const [answered] = answersOf(result);
    expect([answered?.outcome, answered?.result]).toEqual([
      "failed",
      {
        status: "tool_execution_failed",
        reason: typeof reason === "string" ? reason : expect.stringMatching(reason),
        tool_name: "act",
      },
    ]);
  });

  it.for<[what: string, pattern: string, outcome: string]>([
    ["fails if the result does not match a pattern in the output schema that takes exponential time", "^(a+)+$", "failed"],
    ["ignores a pattern in the output schema that has a look-ahead", "^(?=(a+)+$)", "completed"],
    ["ignores an invalid pattern in the output schema", "(", "completed"],
  ])("%s", async ([, pattern, outcome]) => {
    const outputSchema = { type: "object" as const, properties: { x: { type: "string", pattern } } };
    const answer: Answer = () => ({ content: [], structuredContent: { x: `${"a".repeat(50_000)}!` } });
    const { start } = await setUp(generation, [{ name: "act", outputSchema }], { answer });
    expect(answersOf(await start(["act"]).result)).toMatchObject([{ outcome }]);
  });

  it("fails if the tool runs as an MCP task", async () => {
    const started = { task: { taskId: "t1", status: "working", ttl: null, createdAt: "", lastUpdatedAt: "" } };
    const tools = [{ name: "task", execution: { taskSupport: "required" as const } }, { name: "act" }];
    const { served, start } = await setUp(generation, tools, { answer: () => started as never });
    const answers = answersOf(await start(["task", "act"]).result);
    expect(answers.map(({ outcome }) => outcome)).toEqual(["failed", "failed"]);
    expect(answers[0]?.result).toMatchObject({
      reason: "This tool runs as an MCP task. MCP tasks are not supported, so the tool cannot be called.",
    });
    expect(served.calls.map(({ name }) => name)).toEqual(["act"]);
  });

  it.for<[args: Json]>([[[1]], ["text"], [7]])("fails without sending a request if the arguments are %j", async ([args]) => {
    const { served, start } = await setUp(generation, [{ name: "act" }]);
    const provider = createMockProvider([toolCall("act", args), text("Done.")]);
    const result = await start([], { provider }).result;
    expect(answersOf(result)).toMatchObject([{ outcome: "failed", result: { reason: "The arguments must be an object." } }]);
    expect(served.calls).toEqual([]);
  });
});
