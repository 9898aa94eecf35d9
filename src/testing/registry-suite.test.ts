import { describe, expect, it } from "vitest";
import type { ToolRegistry } from "../core/types/loop-options.ts";
import { createToolRegistry } from "../core/tools/registry.ts";
import { type RegistryFixture, registrySuite } from "./registry-suite.ts";
import { createTestClock } from "./test-clock.ts";

type Change = (registry: Required<ToolRegistry>) => Partial<ToolRegistry>;

async function complaintsOf(change: Change): Promise<{ readonly complaints: Record<string, string>; readonly open: number }> {
  const clock = createTestClock();
  const complaints: Record<string, string> = {};
  let open = 0;
  const create = (tools: Parameters<typeof createToolRegistry>[0]): RegistryFixture => {
    open += 1;
    const registry = createToolRegistry(tools);
    return { registry: { ...registry, ...change(registry) }, close: () => void (open -= 1) };
  };
  for (const { title, run } of registrySuite({ create, clock, withinMs: 1_000 })) {
    const running = run().catch((error: unknown) => {
      complaints[title] = error instanceof Error ? error.message : String(error);
    });
    await clock.runAll();
    await running;
  }
  return { complaints, open };
}

describe("registrySuite with createToolRegistry", () => {
  const clock = createTestClock();
  const checks = registrySuite({ create: (tools) => ({ registry: createToolRegistry(tools) }), clock });
  for (const { title, run } of checks)
    it(title, async () => {
      const running = run();
      await clock.runAll();
      await running;
    });
});

describe("registrySuite", () => {
  it.for<[what: string, change: Change]>([
    ["is correct", () => ({})],
    ["does not validate", () => ({ validate: undefined })],
    ["validates with promises", ({ validate }) => ({ validate: async (name, args) => validate(name, args) })],
    [
      "throws for an unknown tool",
      ({ executeTool, definitions }) => ({
        executeTool(name, args, context) {
          if (!definitions().some((definition) => definition.name === name)) throw new Error("no such tool");
          return executeTool(name, args, context);
        },
      }),
    ],
  ])("passes for a registry that %s", async ([, change]) => {
    expect(await complaintsOf(change)).toEqual({ complaints: {}, open: 0 });
  });

  it.for<[fault: string, change: Change, complaints: Record<string, string>]>([
    [
      "hides a tool",
      ({ definitions }) => ({ definitions: () => definitions().slice(1) }),
      {
        "lists each tool in a form that every provider accepts": 'The definitions do not contain the tool "echo".',
        "returns the same definitions while nothing changes":
          "While nothing changes, definitions() must return the same array, but returned two.",
      },
    ],
    [
      "has a tool name that providers reject",
      ({ definitions }) => {
        const more = [...definitions(), { name: "Ärger.log", description: "d", inputSchema: { type: "object" } }];
        return { definitions: () => more };
      },
      {
        "lists each tool in a form that every provider accepts":
          'Some providers reject the tool name "Ärger.log". Use 1 to 64 letters, digits, "_" and "-".',
      },
    ],
    [
      'has a schema without the type "object"',
      ({ definitions }) => {
        const bare = definitions().map((definition) => ({ ...definition, inputSchema: {} }));
        return { definitions: () => bare };
      },
      {
        "lists each tool in a form that every provider accepts":
          'The input schema of "echo" must have the type "object", but is {}.',
      },
    ],
    [
      "lists a tool twice",
      ({ definitions }) => {
        const twice = [...definitions(), ...definitions().slice(0, 1)];
        return { definitions: () => twice };
      },
      { "lists each tool in a form that every provider accepts": "Two tools have the same name." },
    ],
    [
      "has no descriptions",
      ({ definitions }) => {
        const bare = definitions().map((definition) => ({ ...definition, description: " " }));
        return { definitions: () => bare };
      },
      { "lists each tool in a form that every provider accepts": 'The tool "echo" has no description.' },
    ],
    [
      "wraps tool results",
      ({ executeTool }) => ({ executeTool: async (name, args, context) => ({ output: await executeTool(name, args, context) }) }),
      {
        "returns the result of a tool": 'The tool "echo" must return {"text":"Grüße"}, but returned {"output":{"text":"Grüße"}}.',
        "keeps parallel calls apart": 'The tool "echo" must return {"text":"one"}, but returned {"output":{"text":"one"}}.',
        "fails a call to an unknown tool": 'The tool "no_such_tool" does not exist, but executing it returned a result.',
      },
    ],
    [
      "mixes up parallel calls",
      ({ executeTool }) => {
        let latest: unknown;
        return {
          executeTool: async (name, args, context) => {
            latest = args;
            await Promise.resolve();
            return executeTool(name, latest, context);
          },
        };
      },
      { "keeps parallel calls apart": 'The tool "echo" must return {"text":"one"}, but returned {"text":"three"}.' },
    ],
    [
      "returns failures as results",
      ({ executeTool }) => ({
        executeTool: async (name, args, context) => {
          try {
            return await executeTool(name, args, context);
          } catch (error) {
            return String(error);
          }
        },
      }),
      { "fails a call if the tool fails": 'The tool "break" must fail, but its failure was returned as a successful result.' },
    ],
    [
      "loses the reason of a failure",
      ({ executeTool }) => ({
        executeTool: async (name, args, context) => {
          try {
            return await executeTool(name, args, context);
          } catch {
            throw new Error("failed");
          }
        },
      }),
      { "fails a call if the tool fails": 'The error message must contain "out of order", but is "failed".' },
    ],
    [
      "accepts inherited names as tools",
      ({ executeTool }) => ({
        executeTool: (name, args, context) =>
          Reflect.get({}, name) === undefined ? executeTool(name, args, context) : "[object Object]",
      }),
      { "fails a call to an unknown tool": 'The tool "__proto__" does not exist, but executing it returned a result.' },
    ],
    [
      "accepts any arguments",
      () => ({ validate: (_name, args) => ({ value: args }) }),
      {
        "returns issues for invalid arguments":
          'The arguments {"text":42} are invalid for "echo", but the validation returned no issue.',
      },
    ],
    [
      "rejects all arguments",
      () => ({ validate: () => ({ issues: [{ message: "no" }] }) }),
      { "accepts valid arguments": 'The arguments {"text":"hi"} are valid for "echo", but the validation returned issues.' },
    ],
    [
      "throws in validate()",
      () => ({
        validate: () => {
          throw new Error("boom");
        },
      }),
      {
        "returns issues for invalid arguments": 'The validation of {"text":42} failed: boom',
        "accepts valid arguments": 'The validation of {"text":"hi"} failed: boom',
      },
    ],
    [
      "does not pass on the signal",
      ({ executeTool }) => ({
        executeTool: (name, args, context) => executeTool(name, args, { ...context, signal: new AbortController().signal }),
      }),
      { "passes the signal to the tool": 'The tool "hold" did not end within 1000 ms.' },
    ],
    [
      "does not wait for a tool",
      ({ executeTool }) => ({
        executeTool: (name, args, context) => (name === "hold" ? "later" : executeTool(name, args, context)),
      }),
      { "passes the signal to the tool": 'The tool "hold" ended before its signal fired.' },
    ],
  ])("finds exactly the expected faults in a registry that %s", async ([, change, complaints]) => {
    expect(await complaintsOf(change)).toEqual({ complaints, open: 0 });
  });
});
