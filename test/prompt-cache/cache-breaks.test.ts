import {
  contextRestarts,
  defineTool,
  type JsonSchema,
  type LoopEvents,
  type LoopOptions,
  maskResults,
  type Message,
  prepareIteration,
  type Provider,
  type ToolRegistry,
} from "turnwright";
import type { ExecutableTool } from "turnwright/kit";
import { describe, expect, it } from "vitest";
import { type Scripted, type Wire, wires } from "../wire/all-wires.ts";
import { measureShared } from "./measure-bodies.ts";
import { playWire, type PlayedWire } from "./play-wires.ts";

const inputSchema = { type: "object", properties: { city: { type: "string" } } } as const;
const tool = (name: string, fields: Partial<ExecutableTool> = {}): ExecutableTool =>
  defineTool({
    name,
    description: `Tool ${name} – süß`,
    inputSchema,
    ...fields,
    execute: () => `The ${name} of a city is "fine" 🌦.`,
  });
const [weather, look] = [tool("weather"), tool("look")];

const call = (id: string): Scripted => ({ text: "Hmm.", calls: [[id, "weather", '{"city":"Oslo"}']], end: "tools" });
const script: readonly Scripted[] = [call("a"), call("b"), { text: "Oslo.", end: "stop" }];

function changing(before: readonly ExecutableTool[], after: readonly ExecutableTool[]): { readonly create: () => ToolRegistry } {
  const [first, second] = [before, after].map((tools) =>
    tools.map(({ name, description, inputSchema: schema }) => ({ name, description, inputSchema: schema as JsonSchema })),
  );
  const create = (): ToolRegistry => {
    let hasRun = false;
    return {
      definitions: () => (hasRun ? second : first) ?? [],
      executeTool: () => {
        hasRun = true;
        return Promise.resolve({ success: true, data: "fine" });
      },
    };
  };
  return { create };
}

const planned = (plan: (iteration: number) => object): Partial<LoopOptions> => ({
  middleware: [prepareIteration(({ iteration }) => plan(iteration))],
});

const editing =
  (edit: (messages: readonly Message[]) => readonly Message[]) =>
  (provider: Provider): Provider => ({
    ...provider,
    stream: (request, modelCall) => {
      const { messages } = request;
      return provider.stream({ ...request, messages: request.iteration === 0 ? messages : edit(messages) }, modelCall);
    },
  });

interface Case {
  readonly what: string;
  readonly cause: object;
  readonly options?: Partial<LoopOptions>;
  readonly tools?: ReturnType<typeof changing>;
  readonly wrap?: (provider: Provider) => Provider;
  readonly only?: readonly Wire["name"][];
  readonly isIntended?: boolean;
}

const reordered = tool("weather", { inputSchema: { properties: inputSchema.properties, type: "object" } });
const insert: Message = { role: "user", content: "By the way." };
const formats: readonly Wire["name"][] = ["openai", "openai-responses"];

const cases: readonly Case[] = [
  {
    what: "a tool that is added",
    cause: { kind: "tool-added", name: "look" },
    tools: changing([weather], [weather, look]),
  },
  {
    what: "a tool that is removed",
    cause: { kind: "tool-removed", name: "look" },
    tools: changing([look, weather], [weather]),
  },
  {
    what: "a tool with another description",
    cause: { kind: "tool-changed", name: "look" },
    tools: changing([weather, look], [weather, tool("look", { description: "Tool look – süßer" })]),
  },
  {
    what: "tools in another order",
    cause: { kind: "tools-reordered" },
    tools: changing([weather, look], [look, weather]),
  },
  {
    what: "a tool whose schema has its keys in another order",
    cause: { kind: "tool-keys-reordered", name: "weather" },
    tools: changing([weather], [reordered]),
  },
  {
    what: "another system text",
    cause: { kind: "system-changed" },
    options: planned((iteration) => ({ system: `Be brief. It is ${iteration === 0 ? "noon" : "night"}.` })),
  },
  {
    what: "a masked result",
    cause: { kind: "messages-masked" },
    isIntended: true,
    options: { middleware: [maskResults({ keepIterations: 1, minTokens: 0 })] },
  },
  {
    what: "an edited message",
    cause: { kind: "messages-edited" },
    wrap: editing(([, ...rest]) => [{ role: "user", content: "Oslo or Bergen?" }, ...rest]),
  },
  {
    what: "an inserted message",
    cause: { kind: "messages-inserted", count: 1 },
    only: formats,
    wrap: editing((messages) => [insert, ...messages]),
  },
  {
    what: "a removed message",
    cause: { kind: "messages-removed", count: 1 },
    only: formats,
    wrap: editing((messages) => (messages.length > 3 ? messages.slice(1) : messages)),
  },
  {
    what: "another tool choice",
    cause: { kind: "tool-choice-changed" },
    only: ["anthropic"],
    options: planned((iteration) => (iteration === 0 ? {} : { toolChoice: "required" })),
  },
  {
    what: "another thinking budget",
    cause: { kind: "setting-changed", name: "thinking" },
    only: ["anthropic"],
    options: planned((iteration) => ({
      modelSettings: { extra: { thinking: { type: "enabled", budget_tokens: 1_024 + Math.min(1, iteration) } } },
    })),
  },
  {
    what: "another output format",
    cause: { kind: "setting-changed", name: "response_format" },
    only: ["openai"],
    options: planned((iteration) => ({
      modelSettings: { extra: { response_format: { type: iteration === 0 ? "text" : "json_object" } } },
    })),
  },
];

const base = { tools: [weather, look], system: "Be brief." };

/** The Google SDK puts the keys of a message in another order. Its bodies are measured as the adapter passed them to the SDK. */
function bodyAt({ bodies, reported }: PlayedWire, at: number): unknown {
  const { contents, config } = reported[at] as { readonly contents?: unknown; readonly config?: object };
  return contents === undefined ? bodies[at] : { ...config, contents };
}

const settingCauses = ["setting-changed", "tool-choice-changed"];

/** The position of a setting depends on the service and is not visible in a body, so it is not checked. */
function checkSizes(played: PlayedWire, { iteration, cause, keptBytes, lostBytes }: LoopEvents["cache-break"]): void {
  const { bytes, shared } = measureShared(bodyAt(played, iteration - 1), bodyAt(played, iteration));
  if (!settingCauses.includes(cause.kind)) expect(keptBytes).toBe(shared);
  expect(keptBytes + lostBytes).toBe(bytes);
  expect(lostBytes).toBeGreaterThan(0);
}

async function check(wire: Wire, { cause, options, tools, wrap, isIntended = false }: Case): Promise<PlayedWire> {
  const connecting = wire.name === "anthropic" ? { options: { cache: true } } : {};
  const run = { ...base, ...options, ...(tools && { tools: tools.create() }) };
  const played = await playWire({ wire, script, connecting, ...(wrap && { wrap }) }, run);
  expect(played.result.text).toBe("Oslo.");
  const breaks = played.recording.of("cache-break");
  expect(breaks).toMatchObject([{ cause, isIntended, provider: expect.any(String), model: "m" }]);
  for (const found of breaks) checkSizes(played, found);
  expect(played.result.cache?.breaks).toMatchObject([{ cause, iteration: breaks[0]?.iteration }]);
  return played;
}

describe.for(wires)("watchPromptCache with provider $name", (wire) => {
  it.for(cases.filter(({ only }) => only?.includes(wire.name) !== false))("emits cache-break for $what", async (one) => {
    expect((await check(wire, one)).result.cache?.requests).toBe(3);
  });

  it.for(["It is noon.", 'It is {"noon"}.'])(
    "emits no cache-break for the context item %j at the end of each request",
    async (item) => {
      const { recording, result, bodies } = await playWire(
        { wire, script },
        { ...base, middleware: [contextRestarts({ items: [item] })] },
      );
      expect(bodies).toHaveLength(3);
      expect(recording.of("cache-break")).toEqual([]);
      expect(result.cache?.share).toBe(1);
      expect(result.cache?.sharedBytes).toBeLessThan(result.cache?.prefixBytes ?? 0);
    },
  );
});
