// The registry suite: the registry of the core passes it, and each broken registry fails exactly the checks for its fault.

import { describe, expect, it } from "vitest";
import type { ToolRegistry } from "../core/types/loop-options.ts";
import { createToolRegistry } from "../core/tools/registry.ts";
import { type RegistryFixture, registrySuite } from "./registry-suite.ts";
import { createTestClock } from "./test-clock.ts";

type Change = (registry: Required<ToolRegistry>) => Partial<ToolRegistry>;

/** Runs every check on a test clock, and returns the messages of those that fail, by title. */
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
  it.for(checks)("$title", async ({ run }) => {
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
        "lists each tool with what every provider accepts": 'The tool "echo" is not among the definitions.',
        "gives the same definitions while nothing changes":
          "Two looks at unchanged definitions must give one array, but give two.",
      },
    ],
    [
      "has a tool name that providers reject",
      ({ definitions }) => {
        const more = [...definitions(), { name: "Ärger.log", description: "d", inputSchema: { type: "object" } }];
        return { definitions: () => more };
      },
      {
        "lists each tool with what every provider accepts":
          'The name "Ärger.log" has characters that some provider refuses, or too many.',
      },
    ],
    [
      "has a schema without the type object",
      ({ definitions }) => {
        const bare = definitions().map((definition) => ({ ...definition, inputSchema: {} }));
        return { definitions: () => bare };
      },
      { "lists each tool with what every provider accepts": 'The input schema of "echo" must be of type "object", but is {}.' },
    ],
    [
      "lists a tool twice",
      ({ definitions }) => {
        const twice = [...definitions(), ...definitions().slice(0, 1)];
        return { definitions: () => twice };
      },
      { "lists each tool with what every provider accepts": "Two tools have the same name." },
    ],
    [
      "has no descriptions",
      ({ definitions }) => {
        const bare = definitions().map((definition) => ({ ...definition, description: " " }));
        return { definitions: () => bare };
      },
      { "lists each tool with what every provider accepts": 'The tool "echo" has no description.' },
    ],
    [
      "wraps the results of tools",
      ({ executeTool }) => ({ executeTool: async (name, args, context) => ({ output: await executeTool(name, args, context) }) }),
      {
        "gives what a tool gives": 'The tool "echo" must give {"text":"Grüße"}, but gives {"output":{"text":"Grüße"}}.',
        "keeps parallel calls apart": 'The tool "echo" must give {"text":"one"}, but gives {"output":{"text":"one"}}.',
        "fails for a tool that it does not have": 'There is no tool "no_such_tool", but executing it gave a result.',
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
      { "keeps parallel calls apart": 'The tool "echo" must give {"text":"one"}, but gives {"text":"three"}.' },
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
      { "fails where a tool fails": 'The tool "break" must fail, but its failure came back as a result.' },
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
      { "fails where a tool fails": 'The failure must say "out of order", but says "failed".' },
    ],
    [
      "accepts inherited names as tools",
      ({ executeTool }) => ({
        executeTool: (name, args, context) =>
          Reflect.get({}, name) === undefined ? executeTool(name, args, context) : "[object Object]",
      }),
      { "fails for a tool that it does not have": 'There is no tool "__proto__", but executing it gave a result.' },
    ],
    [
      "accepts any arguments",
      () => ({ validate: (_name, args) => ({ value: args }) }),
      { "gives issues for arguments that do not fit": 'The arguments {"text":42} do not fit "echo", but there is no issue.' },
    ],
    [
      "rejects all arguments",
      () => ({ validate: () => ({ issues: [{ message: "no" }] }) }),
      { "lets arguments pass that fit": 'The arguments {"text":"hi"} fit "echo", but there are issues.' },
    ],
    [
      "throws in validate()",
      () => ({
        validate: () => {
          throw new Error("boom");
        },
      }),
      {
        "gives issues for arguments that do not fit": 'The validation of {"text":42} failed: boom',
        "lets arguments pass that fit": 'The validation of {"text":"hi"} failed: boom',
      },
    ],
    [
      "does not pass on the signal",
      ({ executeTool }) => ({
        executeTool: (name, args, context) => executeTool(name, args, { ...context, signal: new AbortController().signal }),
      }),
      { "hands the signal on to the tool": 'The tool "hold" did not end within 1000 ms.' },
    ],
    [
      "does not wait for a tool",
      ({ executeTool }) => ({
        executeTool: (name, args, context) => (name === "hold" ? "later" : executeTool(name, args, context)),
      }),
      { "hands the signal on to the tool": 'The tool "hold" ended before its signal fired.' },
    ],
  ])("reports only the fault of a registry that %s", async ([, change, complaints]) => {
    expect(await complaintsOf(change)).toEqual({ complaints, open: 0 });
  });
});
