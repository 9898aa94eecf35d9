import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { isLoopError, type ToolDefinition, type ToolRegistry } from "turnwright";
import type { ToolTraits } from "../../src/core/types/tool.ts";
import { createMcpRegistry, type McpClient, type McpRegistry, type McpRegistryOptions } from "turnwright/mcp";
import { text, toolCall } from "turnwright/testing";
import { answersOf, play } from "../loop/play.ts";
import { closing, generations, type Generation } from "./connect.ts";
import { createToolServer, says, type ServedTool, type ToolServer } from "./tool-server.ts";

interface Setup {
  readonly served: ToolServer;
  readonly client: McpClient;
  readonly registry: McpRegistry;
}

async function setUp(generation: Generation, served: ToolServer, options: Partial<McpRegistryOptions> = {}): Promise<Setup> {
  const { client } = await closing(generation.connectTo(served.server));
  return { served, client, registry: await createMcpRegistry({ client, ...options }) };
}

const named = (...names: readonly string[]): readonly ServedTool[] => names.map((name) => ({ name }));
const namesOf = (registry: ToolRegistry): readonly string[] => registry.definitions().map(({ name }) => name);

const rejections: unknown[] = [];
process.on("unhandledRejection", (error) => void rejections.push(error));
beforeEach(() => void rejections.splice(0));

describe.for(generations)("createMcpRegistry over $name", (generation) => {
  it("lists the tools from all result pages, each once", async () => {
    const served = createToolServer(
      [...named("a", "b", "c", "d"), { name: "a", description: "Again" }, { name: "e" }],
      undefined,
      2,
    );
    const { registry } = await setUp(generation, served);
    expect(namesOf(registry)).toEqual(["a", "b", "c", "d", "e"]);
    expect(registry.definitions()[0]?.description).toBe("a");
    expect(served.listings).toBe(3);
  });

  it("uses the server's description, title and schema for each tool", async () => {
    const inputSchema = {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object" as const,
      properties: { city: {} },
    };
    const tools: readonly ServedTool[] = [
      { name: "described", description: "Tells the weather", title: "Weather", inputSchema },
      { name: "titled", title: "Time", description: " " },
      { name: "annotated", annotations: { title: "Place" } },
    ];
    const { registry } = await setUp(generation, createToolServer(tools));
    expect(registry.definitions()).toEqual<ToolDefinition[]>([
      {
        name: "described",
        description: "Tells the weather",
        inputSchema: { type: "object", properties: { city: {} } },
        requiresFollowUp: true,
      },
      { name: "titled", description: "Time", inputSchema: { type: "object" }, requiresFollowUp: true },
      { name: "annotated", description: "Place", inputSchema: { type: "object" }, requiresFollowUp: true },
    ]);
  });

  it("calls each tool by its name on the server", async () => {
    const served = createToolServer(named("a.b", "a_b", "tidy"), ({ name }) => says(name));
    const { registry } = await setUp(generation, served, { prefix: "x_" });
    const names = namesOf(registry);
    expect(names).toEqual([expect.stringMatching(/^x_a_b_[0-9a-f]{6}$/), "x_a_b", "x_tidy"]);
    const calls = names.map((name) => toolCall(name));
    const result = await play([calls, text("Done.")], { tools: registry }).result;
    expect(answersOf(result).map(({ result: said }) => said)).toEqual(["a.b", "a_b", "tidy"]);
    const missing = await play([toolCall("tidy"), text("Done.")], { tools: registry }).result;
    expect(answersOf(missing)).toMatchObject([{ outcome: "unknown-tool" }]);
  });

  it("prefers options.traits over annotations", async () => {
    const annotations = { readOnlyHint: true, idempotentHint: true };
    const traits = ({ name }: { readonly name: string }): ToolTraits | undefined =>
      name === "slow" ? { timeoutMs: 5, needsApproval: true, idempotent: false } : undefined;
    const tools = [
      { name: "slow", annotations },
      { name: "quick", annotations },
    ];
    const { registry } = await setUp(generation, createToolServer(tools), { traits });
    expect(registry.definitions().map(({ description: _, inputSchema: __, ...shown }) => shown)).toEqual([
      { name: "slow", timeoutMs: 5, needsApproval: true, idempotent: false, replay: "safe", requiresFollowUp: true },
      { name: "quick", idempotent: true, retry: { maxAttempts: 2 }, replay: "safe", requiresFollowUp: true },
    ]);
  });

  it('throws "invalid-tool" for invalid traits', async () => {
    const { client } = await closing(generation.connectTo(createToolServer(named("a")).server));
    const creating = createMcpRegistry({ client, traits: () => ({ retry: { maxAttempts: 3 } }) });
    await expect(creating).rejects.toSatisfy((error) => isLoopError(error, "invalid-tool"));
  });

  it("returns the same definitions until a tool has changed", async () => {
    const { registry, served } = await setUp(generation, createToolServer(named("a")));
    const before = registry.definitions();
    expect(registry.definitions()).toBe(before);
    await registry.refresh();
    expect(registry.definitions()).toBe(before);
    await served.setTools(named("a", "b"), { silent: true });
    await registry.refresh();
    expect(registry.definitions()).not.toBe(before);
    expect(namesOf(registry)).toEqual(["a", "b"]);
  });

  it("offers changed tools in a run's next iteration, even if the server lists them slowly", async () => {
    const served = createToolServer(named("first"), async ({ name }) => {
      await served.setTools(named(name === "first" ? "second" : "third"));
      return says(name);
    });
    const { registry } = await setUp(generation, served);
    served.onListing(() => new Promise((resolve) => void setImmediate(() => void setImmediate(resolve))));
    const script = [toolCall("first"), toolCall("second"), toolCall("third"), text("Done.")];
    const result = await play(script, { tools: registry }).result;
    expect(answersOf(result).map(({ result: said }) => said)).toEqual(["first", "second", "third"]);
  });

  it("offers changed tools in the next iteration if the caller's own handler refreshes them", async () => {
    const served = createToolServer(named("first"), async ({ name }) => {
      await served.setTools(named("second"), { silent: true });
      void registry.refresh();
      return says(name);
    });
    const { registry } = await setUp(generation, served, { listChanged: false });
    served.onListing(() => new Promise((resolve) => void setImmediate(() => void setImmediate(resolve))));
    const result = await play([toolCall("first"), toolCall("second"), text("Done.")], { tools: registry }).result;
    expect(answersOf(result).map(({ result: said }) => said)).toEqual(["first", "second"]);
  });

  it("offers changed tools in the next iteration if the change is reported on a different connection, after the result", async () => {
    const served = createToolServer(named("first"), ({ name }) => {
      setImmediate(() => void served.setTools(named("second")));
      return says(name);
    });
    const { client, registry } = await setUp(generation, served);
    // Only the transport of Streamable HTTP has this method.
    Object.assign(client.transport ?? {}, { terminateSession: () => undefined });
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const run = play([toolCall("first"), toolCall("second"), text("Done.")], { tools: registry });
    for (let ms = 0; ms < 200; ms += 1) await vi.advanceTimersByTimeAsync(1);
    expect(answersOf(await run.result).map(({ result: said }) => said)).toEqual(["first", "second"]);
  });

  it("delays the end of a call by at most a second if the server does not list its changed tools", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const served = createToolServer(named("first"), async ({ name }) => {
      await served.setTools(named("second"));
      return says(name);
    });
    const { registry } = await setUp(generation, served);
    onTestFinished(served.holdListings());
    const running = play([toolCall("first"), text("Done.")], { tools: registry }).result;
    await vi.advanceTimersByTimeAsync(1_000);
    expect(answersOf(await running).map(({ result: said }) => said)).toEqual(["first"]);
  });

  it("lists the tools only one more time after several changes during a listing", async () => {
    const { registry, served } = await setUp(generation, createToolServer(named("a")));
    const letGo = served.holdListings();
    await served.setTools(named("b"));
    await vi.waitFor(() => expect(served.listings).toBe(2));
    for (const name of ["c", "d", "e"]) await served.setTools(named(name));
    letGo();
    await vi.waitFor(() => expect(served.listings).toBe(3));
    await vi.waitFor(() => expect(namesOf(registry)).toEqual(["e"]));
  });

  it("can list tools again after a listing has failed", async () => {
    const { registry, served } = await setUp(generation, createToolServer(named("a")));
    const letGo = served.holdListings();
    served.failListings("Out of order.");
    const both = [registry.refresh(), registry.refresh()];
    letGo();
    for (const failing of both) await expect(failing).rejects.toThrow("Out of order.");
    expect(served.listings).toBe(3);
    served.failListings(undefined);
    await served.setTools(named("b"), { silent: true });
    await registry.refresh();
    expect(namesOf(registry)).toEqual(["b"]);
  });

  it("calls onError and keeps its tools if a listing fails", async () => {
    const errors: unknown[] = [];
    const onError = (error: unknown): void => {
      errors.push(error);
      throw new Error("Nobody hears this.");
    };
    const { registry, served } = await setUp(generation, createToolServer(named("a")), { onError });
    const before = registry.definitions();
    served.failListings("Out of order.");
    await served.setTools(named("b"));
    await vi.waitFor(() => expect(errors).toMatchObject([{ message: expect.stringContaining("Out of order.") }]));
    await expect(registry.refresh()).rejects.toThrow("Out of order.");
    expect(registry.definitions()).toBe(before);
    served.failListings(undefined);
    await registry.refresh();
    expect([namesOf(registry), rejections]).toEqual([["b"], []]);
  });

  it("keeps its tools if a listing fails, even without onError", async () => {
    const { registry, served } = await setUp(generation, createToolServer(named("a")));
    served.failListings("Out of order.");
    await served.setTools(named("b"));
    await vi.waitFor(() => expect(served.listings).toBe(2));
    await new Promise((resolve) => void setImmediate(resolve));
    expect([namesOf(registry), rejections]).toEqual([["a"], []]);
  });

  it("ignores changed tools after close(), but still calls the known tools", async () => {
    const { registry, served, client } = await setUp(generation, createToolServer(named("a")));
    registry.close();
    registry.close();
    await served.setTools(named("b"));
    await client.listTools();
    expect([namesOf(registry), served.listings]).toEqual([["a"], 2]);
    const result = await play([toolCall("a"), text("Done.")], { tools: registry }).result;
    expect(answersOf(result)).toMatchObject([{ result: "a is done." }]);
    await registry.refresh();
    expect(namesOf(registry)).toEqual(["b"]);
  });

  it("does not call onError after close()", async () => {
    const onError = vi.fn<(error: unknown) => void>();
    const { registry, served } = await setUp(generation, createToolServer(named("a")), { onError });
    const letGo = served.holdListings();
    await served.setTools(named("b"));
    await vi.waitFor(() => expect(served.listings).toBe(2));
    served.failListings("Out of order.");
    registry.close();
    letGo();
    await expect(registry.refresh()).rejects.toThrow("Out of order.");
    expect(onError).not.toHaveBeenCalled();
  });

  it("shares the notification handler with other registries for the same client", async () => {
    const { registry, served, client } = await setUp(generation, createToolServer(named("a")));
    const other = await createMcpRegistry({ client, prefix: "x_" });
    await served.setTools(named("b"));
    await vi.waitFor(() => expect([namesOf(registry), namesOf(other)]).toEqual([["b"], ["x_b"]]));
    registry.close();
    await served.setTools(named("c"));
    await vi.waitFor(() => expect(namesOf(other)).toEqual(["x_c"]));
    expect(namesOf(registry)).toEqual(["b"]);
    other.close();
    const again = await createMcpRegistry({ client, prefix: "y_" });
    await served.setTools(named("d"));
    await vi.waitFor(() => expect(namesOf(again)).toEqual(["y_d"]));
    expect(namesOf(other)).toEqual(["x_c"]);
  });

  it("does not set a notification handler if listChanged is false", async () => {
    const set = vi.fn<(...args: unknown[]) => void>();
    const { client } = await closing(generation.connectTo(createToolServer(named("a")).server));
    Object.assign(client, { setNotificationHandler: set });
    const registry = await createMcpRegistry({ client, listChanged: false });
    registry.close();
    expect(set).not.toHaveBeenCalled();
  });

  it("removes its notification handler if the first listing fails", async () => {
    const served = createToolServer(named("a"));
    const { client } = await closing(generation.connectTo(served.server));
    const removed = vi.spyOn(client, "removeNotificationHandler");
    served.failListings("Out of order.");
    await expect(createMcpRegistry({ client })).rejects.toThrow("Out of order.");
    expect(removed).toHaveBeenCalledExactlyOnceWith("notifications/tools/list_changed");
  });

  it("keeps the tools after the client is closed", async () => {
    const served = createToolServer(named("a"));
    const { client, close } = await closing(generation.connectTo(served.server));
    const registry = await createMcpRegistry({ client });
    await close();
    await expect(registry.refresh()).rejects.toThrow("Not connected");
    expect(namesOf(registry)).toEqual(["a"]);
    const result = await play([toolCall("a"), text("Done.")], { tools: registry }).result;
    expect(answersOf(result)).toMatchObject([
      { outcome: "failed", result: { reason: expect.stringContaining("Not connected") } },
    ]);
  });

  it("works again after the client has reconnected", async () => {
    const { registry, served, client } = await setUp(generation, createToolServer(named("a")));
    await served.server.close();
    const first = await play([toolCall("a"), text("Done.")], { tools: registry }).result;
    expect([answersOf(first)[0]?.outcome, namesOf(registry)]).toEqual(["failed", ["a"]]);
    const next = createToolServer(named("a", "b"));
    await generation.reconnect(client, next.server);
    await registry.refresh();
    const second = await play([toolCall("b"), text("Done.")], { tools: registry }).result;
    expect(answersOf(second)).toMatchObject([{ result: "b is done." }]);
    await next.setTools(named("c"));
    await vi.waitFor(() => expect(namesOf(registry)).toEqual(["c"]));
  });
});
