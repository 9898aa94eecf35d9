import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  approve,
  type Approve,
  createToolRegistry,
  defineAgentTool,
  type LoopOptions,
  mergeRegistries,
  type Middleware,
  type Tool,
  type ToolRegistry,
  withFilter,
  withPrefix,
} from "turnwright";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { createDurableStore } from "./durable-store.ts";
import { answersOf, outcomesOf, play, type Playing, tool } from "./play.ts";

interface Shop {
  readonly ran: string[];
  readonly registry: ToolRegistry;
  swap(): void;
}

const changes: { readonly [what: string]: Partial<Tool> } = {
  "another description": { description: "REAL" },
  "another schema": { inputSchema: { type: "object", required: ["to"] } },
  "one more optional parameter": { inputSchema: { type: "object", properties: { note: { type: "string" } } } },
  "needsApproval: true": { needsApproval: true },
  "idempotent: false": { idempotent: false },
  "another origin": { origin: "pay-now" },
};

function setUp(change: Partial<Tool>, wrap: (registry: ToolRegistry) => ToolRegistry = (registry) => registry): Shop {
  const ran: string[] = [];
  const make = (version: string, traits: Partial<Tool>): Tool =>
    tool("pay", () => void ran.push(version), { idempotent: true, ...traits });
  const own = createToolRegistry([make("shown", {}), tool("look", () => void ran.push("look"))]);
  const swap = (): void => {
    own.unregister("pay");
    own.register(make("changed", change));
  };
  return { ran, registry: wrap(own), swap };
}

/** Makes `definitions()` return new objects each time, as in a registry without a cache. */
const unkept = (registry: ToolRegistry): ToolRegistry => ({
  definitions: () => registry.definitions().map((definition) => ({ ...definition })),
  executeTool: (name, args, context) => registry.executeTool(name, args, context),
});

const wraps: { readonly [what: string]: (registry: ToolRegistry) => ToolRegistry } = {
  plain: (registry) => registry,
  merged: (registry) => mergeRegistries(registry, [tool("other", () => 1)]),
  filtered: (registry) => withFilter(registry, ["pay", "look"]),
  uncached: unkept,
};

describe("a call to a tool that has changed since the model request", () => {
  it.for(Object.keys(changes).flatMap((what) => Object.keys(wraps).map((how) => [what, how] as const)))(
    "does not run if the new tool has %s (%s registry)",
    async ([what, how]) => {
      const { ran, registry, swap } = setUp(changes[what] ?? {}, wraps[how]);
      const tools = mergeRegistries(registry, [tool("swap", swap, { sequential: true })]);
      const result = await play([[toolCall("swap"), toolCall("pay"), toolCall("look")], text("Done.")], { tools }).result;
      expect([outcomesOf(result), ran]).toEqual([
        ["call_i0_0: completed", "call_i0_1: invalid-input", "call_i0_2: completed"],
        ["look"],
      ]);
      expect(answersOf(result)[1]?.result).toMatchObject({
        status: "invalid_input",
        reason: expect.stringContaining("the tool changed"),
      });
    },
  );

  it("runs if the registry holds an equal tool under the same name", async () => {
    const { ran, registry, swap } = setUp({});
    const tools = withPrefix(mergeRegistries(registry, [tool("swap", swap, { sequential: true })]), "a_");
    const result = await play([[toolCall("a_swap"), toolCall("a_pay")], text("Done.")], { tools }).result;
    expect([outcomesOf(result)[1], ran]).toEqual(["call_i0_1: completed", ["changed"]]);
  });

  it("is not retried with the changed tool", async () => {
    const registry = createToolRegistry();
    const traits = { idempotent: true, retry: { maxAttempts: 3 } };
    const ran: string[] = [];
    const first = tool("flaky", fail, traits);
    registry.register(first);
    function fail(): never {
      ran.push("shown");
      registry.unregister("flaky");
      registry.register(tool("flaky", () => ran.push("changed"), { ...traits, description: "changed" }));
      throw new Error("out of order");
    }
    const result = await play([toolCall("flaky"), text("Done.")], { tools: registry }).result;
    expect([outcomesOf(result), ran]).toEqual([["call_i0_0: failed"], ["shown"]]);
  });

  it("does not run, even as an eager call, if a listener for tool-start changes the tool", async () => {
    for (const eager of [true, false]) {
      const { ran, registry, swap } = setUp({ eager, description: "changed" });
      const playing = play([[toolCall("pay"), toolCall("look")], text("Done.")], { tools: registry });
      playing.recording.emitter.once("tool-start", swap);
      expect([outcomesOf(await playing.result)[0], ran]).toEqual(["call_i0_0: invalid-input", ["look"]]);
    }
  });

  it("does not start a nested run if the tool is an agent tool", async () => {
    const { ran, registry, swap } = setUp({ description: "changed" });
    const agent = (description: string): Tool =>
      defineAgentTool({
        name: "pay",
        description,
        inputSchema: { type: "object" },
        prepare: () => ({ provider: createMockProvider([text("inside")]), messages: [{ role: "user", content: "Go." }] }),
        toResult: () => void ran.push(description),
      });
    const own = createToolRegistry([agent("shown")]);
    const swapAgent = tool(
      "swap",
      () => {
        own.unregister("pay");
        own.register(agent("changed"));
      },
      { sequential: true },
    );
    const tools = mergeRegistries(own, [swapAgent]);
    const asAgent = await play([[toolCall("swap"), toolCall("pay")], text("Done.")], { tools }).result;
    const tooled = mergeRegistries(registry, [tool("swap", swap, { sequential: true })]);
    const asTool = await play([[toolCall("swap"), toolCall("pay")], text("Done.")], { tools: tooled }).result;
    expect([outcomesOf(asAgent)[1], outcomesOf(asTool)[1], ran]).toEqual([
      "call_i0_1: invalid-input",
      "call_i0_1: invalid-input",
      [],
    ]);
  });
});

describe("an approved call whose tool changes before the call runs", () => {
  interface Approved {
    readonly asked: string[];
    readonly ran: string[];
    play(options?: Partial<LoopOptions>): Playing;
  }

  function approving(change: Partial<Tool>): Approved {
    const { ran, registry, swap } = setUp(change);
    const asked: string[] = [];
    const policy: Approve = ({ name }, { tool: { description } }) => {
      if (name !== "pay") return { kind: "approve" };
      asked.push(description);
      if (asked.length === 1) swap();
      return { kind: "approve" };
    };
    return {
      asked,
      ran,
      play: (options = {}) =>
        play([[toolCall("pay"), toolCall("look")], text("Done.")], {
          tools: registry,
          middleware: [approve(policy)],
          runId: "r",
          ...options,
        }),
    };
  }

  it("is refused, because the approval applied to the tool that the model saw", async () => {
    const stage = approving({ description: "REAL" });
    const store = createDurableStore();
    const playing = stage.play({ journal: store.open() });
    const result = await playing.result;
    expect([stage.asked, stage.ran, outcomesOf(result)]).toEqual([
      ["pay"],
      ["look"],
      ["call_i0_0: invalid-input", "call_i0_1: completed"],
    ]);
    expect(JSON.stringify(answersOf(result)[0]?.result)).toContain("the tool changed after this call was made");
    const starts = playing.recording.of("tool-start").filter(({ callId }) => callId === "call_i0_0");
    expect([starts.length, playing.recording.of("approval-asked").length]).toEqual([0, 2]);
    const again = await stage.play({ journal: store.open(), provider: createMockProvider([]) }).result;
    expect([again.messages, stage.asked.length, stage.ran]).toEqual([result.messages, 1, ["look"]]);
  });

  it("becomes invalid without another approval if its arguments no longer match the schema", async () => {
    const { asked, ran, play: start } = approving({ inputSchema: z.object({ to: z.string() }) });
    const result = await start().result;
    expect([asked.length, ran, outcomesOf(result)[0]]).toEqual([1, ["look"], "call_i0_0: invalid-input"]);
  });

  it("is refused without a second approval if the tool keeps changing", async () => {
    let version = 0;
    const asked: string[] = [];
    const own = tool("pay", () => asked.push("RAN"));
    const registry: ToolRegistry = {
      definitions: () => [{ name: "pay", description: `version ${(version += 1)}`, inputSchema: { type: "object" } }],
      executeTool: (_, args, context) => own.execute(args as never, context as never),
    };
    const middleware: readonly Middleware[] = [
      approve((_, { tool: { description } }) => {
        asked.push(description);
        return { kind: "approve" };
      }),
    ];
    const result = await play([toolCall("pay"), text("Done.")], { tools: registry, middleware }).result;
    expect([outcomesOf(result), asked.length, asked.includes("RAN")]).toEqual([["call_i0_0: invalid-input"], 1, false]);
  });

  it("is refused if an earlier call in the batch changes the tool", async () => {
    const { ran, registry, swap } = setUp({ description: "REAL" });
    const asked: string[] = [];
    const middleware: readonly Middleware[] = [
      approve(({ name }, { tool: { description } }) => {
        if (name === "pay") asked.push(description);
        return { kind: "approve" };
      }),
    ];
    const tools = mergeRegistries(registry, [tool("swap", swap, { sequential: true })]);
    const result = await play([[toolCall("swap"), toolCall("pay")], text("Done.")], { tools, middleware }).result;
    expect([asked, ran, outcomesOf(result)]).toEqual([["pay"], [], ["call_i0_0: completed", "call_i0_1: invalid-input"]]);
  });
});
