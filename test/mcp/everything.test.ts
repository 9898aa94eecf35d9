import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import type { ToolContext, ToolRegistry } from "turnwright";
import { createMcpRegistry, type McpRegistry, type McpRegistryOptions } from "turnwright/mcp";
import { text, toolCall } from "turnwright/testing";
import { answersOf, play } from "../loop/play.ts";
import { type Connection, generations, type Generation } from "./connect.ts";

interface Everything {
  readonly connection: Connection;
  readonly registry: McpRegistry;
}

async function disconnect(connection: Connection): Promise<void> {
  await connection.close();
  await vi.waitFor(() => expect(isAlive(connection.pid)).toBe(false));
}

async function connect(generation: Generation, options: Partial<McpRegistryOptions> = {}): Promise<Everything> {
  const connection = await generation.connectEverything();
  onTestFinished(() => disconnect(connection));
  return { connection, registry: await createMcpRegistry({ client: connection.client, ...options }) };
}

function isAlive(pid = 0): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

function merge(...registries: readonly ToolRegistry[]): ToolRegistry {
  const definitions = registries.flatMap((registry) => registry.definitions());
  const ownerOf = (name: string): ToolRegistry | undefined =>
    registries.find((registry) => registry.definitions().some((definition) => definition.name === name));
  return {
    definitions: () => definitions,
    executeTool: (name: string, args: unknown, context: ToolContext) => ownerOf(name)?.executeTool(name, args, context),
  };
}

beforeAll(() => void vi.stubEnv("OUR_API_KEY", "sk-nobody-sees-this-1"));
afterAll(() => void vi.unstubAllEnvs());

describe.for(generations)("createMcpRegistry with the reference server over $name", (generation) => {
  // Most tests share one server, because starting a server takes half a second.
  let shared: Connection;
  let tools: McpRegistry;

  beforeAll(async () => {
    shared = await generation.connectEverything();
    tools = await createMcpRegistry({ client: shared.client });
  });
  afterAll(() => disconnect(shared));

  it("maps its tools' annotations to traits", () => {
    const traits = tools.definitions().map(({ description, inputSchema, ...shown }) => {
      expect([description.length > 10, inputSchema["type"], inputSchema["$schema"]]).toEqual([true, "object", undefined]);
      return shown;
    });
    const own = { requiresFollowUp: true };
    const repeats = { ...own, idempotent: true, retry: { maxAttempts: 2 }, replay: "safe" };
    const reads = repeats;
    expect(traits).toEqual([
      { name: "echo", ...reads },
      { name: "get-annotated-message", ...reads },
      { name: "get-env", ...reads },
      { name: "get-resource-links", ...reads },
      { name: "get-resource-reference", ...reads },
      { name: "get-structured-content", ...reads },
      { name: "get-sum", ...reads },
      { name: "get-tiny-image", ...reads },
      { name: "gzip-file-as-resource", ...repeats },
      { name: "toggle-simulated-logging", ...own },
      { name: "toggle-subscriber-updates", ...own },
      { name: "trigger-long-running-operation", ...reads },
      { name: "simulate-research-query", ...own },
    ]);
  });

  it("returns text, structured data, images and files", async () => {
    const calls = [
      toolCall("echo", { message: "Grüße" }),
      toolCall("get-structured-content", { location: "Chicago" }),
      toolCall("get-tiny-image"),
      toolCall("get-resource-links", { count: 1 }),
      toolCall("get-resource-reference", { resourceType: "Text", resourceId: 2 }),
      toolCall("gzip-file-as-resource", { name: "a.gz", data: "data:text/plain,a", outputType: "resource" }),
    ];
    const result = await play([calls, text("Done.")], { tools }).result;
    const answers = answersOf(result);
    expect(answers.map(({ outcome }) => outcome)).toEqual(Array.from(calls, () => "completed"));
    expect(answers.map(({ result: read }) => read)).toEqual([
      "Echo: Grüße",
      { temperature: 36, conditions: "Light rain / drizzle", humidity: 82 },
      "Here's the image you requested:\nThe image above is the MCP logo.",
      expect.stringContaining('\nResource "Blob Resource 1" (text/plain) at demo://resource/dynamic/blob/1: Resource 1'),
      expect.stringContaining("\nResource demo://resource/dynamic/text/2:\nResource 2:"),
      null,
    ]);
    expect(answers.map(({ content }) => content?.map(({ type }) => type))).toEqual([
      undefined,
      undefined,
      ["image"],
      undefined,
      undefined,
      ["file"],
    ]);
    expect(answers[2]?.content).toMatchObject([{ mediaType: "image/png", data: expect.stringMatching(/^iVBORw0KGgo/) }]);
  });

  it("tells the model about invalid arguments and about a tool that runs as an MCP task", async () => {
    const calls = [
      toolCall("get-sum", { a: "one" }),
      toolCall("simulate-research-query", { topic: "x" }),
      toolCall("get-sum", { a: 1, b: 2 }),
    ];
    const result = await play([calls, text("Done.")], { tools }).result;
    expect(result.text).toBe("Done.");
    expect(answersOf(result)).toMatchObject([
      { outcome: "failed", result: { reason: expect.stringContaining("Invalid arguments for tool get-sum") } },
      { outcome: "failed", result: { reason: expect.stringContaining("runs as an MCP task") } },
      { outcome: "completed", result: "The sum of 1 and 2 is 3." },
    ]);
  });

  it("passes only the configured environment variables to the server", async () => {
    const result = await play([toolCall("get-env"), text("Done.")], { tools }).result;
    expect(answersOf(result)[0]?.result).toContain('"PATH": ""');
    expect(JSON.stringify(result)).not.toContain("OUR_API_KEY");
  });

  it("emits tool-progress for progress notifications from the server", async () => {
    const script = [toolCall("trigger-long-running-operation", { duration: 0.4, steps: 4 }), text("Done.")];
    const { result, recording } = play(script, { tools });
    expect(answersOf(await result)).toMatchObject([{ outcome: "completed" }]);
    // If a progress notification arrives together with the result, the SDK drops it.
    const told = recording.of("tool-progress").map(({ name, data }) => [name, data]);
    expect(told.slice(0, 3)).toEqual([1, 2, 3].map((progress) => ["trigger-long-running-operation", { progress, total: 4 }]));
  });

  it("can be used again after a run was stopped during a call", async () => {
    const playing = play([toolCall("trigger-long-running-operation", { duration: 2, steps: 40 })], { tools });
    await vi.waitFor(() => expect(playing.recording.of("tool-progress").length).toBeGreaterThan(0));
    playing.control.stop();
    const result = await playing.result;
    expect([result.reason.kind, answersOf(result)[0]?.outcome]).toEqual(["stopped", "interrupted"]);
    const next = await play([toolCall("echo", { message: "again" }), text("Done.")], { tools }).result;
    expect(answersOf(next)).toMatchObject([{ result: "Echo: again" }]);
  });

  it("fails a call immediately if the server is killed", async () => {
    const { registry, connection } = await connect(generation);
    const script = [
      toolCall("trigger-long-running-operation", { duration: 60, steps: 1_000 }),
      toolCall("echo", { message: "Anybody?" }),
      text("Nobody."),
    ];
    const playing = play(script, { tools: registry });
    await vi.waitFor(() => expect(playing.recording.of("tool-progress").length).toBeGreaterThan(0));
    const before = registry.definitions();
    process.kill(connection.pid ?? 0, "SIGKILL");
    const result = await playing.result;
    expect(result.text).toBe("Nobody.");
    expect(answersOf(result)).toMatchObject([
      {
        outcome: "failed",
        result: { reason: expect.stringMatching(/^The MCP server returned no result: .*(closed|Not connected)$/) },
      },
      { outcome: "failed", result: { reason: "The MCP server returned no result: Not connected" } },
    ]);
    expect(registry.definitions()).toBe(before);
    await expect(registry.refresh()).rejects.toThrow("Not connected");
    expect(playing.clock.pending).toBe(0);
  });

  it("can be created twice with two prefixes", async () => {
    const first = await createMcpRegistry({ client: shared.client, prefix: "a_" });
    const second = await connect(generation, { prefix: "b_" });
    const both = merge(first, second.registry);
    const calls = ["a_echo", "b_echo", "echo"].map((name) => toolCall(name, { message: name }));
    const result = await play([calls, text("Done.")], { tools: both }).result;
    expect(answersOf(result).map(({ outcome }) => outcome)).toEqual(["completed", "completed", "unknown-tool"]);
    expect(answersOf(result).map(({ result: read }) => read)).toMatchObject(["Echo: a_echo", "Echo: b_echo", {}]);
  });

  it('causes a "duplicate-tool" error if two registries have no prefix', async () => {
    const again = await createMcpRegistry({ client: shared.client });
    const running = play([text("Done.")], { tools: merge(tools, again) }).result;
    await expect(running).rejects.toMatchObject({ code: "duplicate-tool", details: { toolName: "echo" } });
  });
});
