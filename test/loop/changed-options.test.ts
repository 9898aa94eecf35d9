import { beforeAll, describe, expect, it } from "vitest";
import {
  approve,
  contextRestarts,
  detectLoops,
  gateTools,
  type LoopOptions,
  maskResults,
  onIteration,
  prepareIteration,
  preToolText,
  processResults,
  runToolLoop,
  stopWhen,
} from "turnwright";
import { createMockProvider, createTestClock, text, toolCall } from "turnwright/testing";
import { tool } from "./play.ts";

type Fields = { [field: string]: unknown };

interface Gate {
  readonly active: true;
  readonly allowedNames: string[];
  readonly triggerMatchByToolName: Map<string, { readonly trigger: string; readonly match: string; readonly source: "literal" }>;
}

const createGate = (): Gate => ({
  active: true,
  allowedNames: ["t", "context", "u"],
  triggerMatchByToolName: new Map([["t", { trigger: "x", match: "x", source: "literal" }]]),
});

/** The options contain every kind of data. A run cannot copy functions, so it must go on calling the original ones. */
function createOptions(gate: Gate): Fields {
  return {
    system: "Be brief.",
    messages: [
      { role: "user", content: "Hi." },
      { role: "assistant", content: [{ type: "text", text: "Hello." }] },
      { role: "user", content: [{ type: "text", text: "Again." }] },
    ],
    modelSettings: { temperature: 0, stopSequences: ["END"], extra: { deep: { list: [1] } } },
    toolChoice: { name: "t" },
    middleware: [
      onIteration(() => undefined),
      maskResults({ keepIterations: 1, minTokens: 0, batchOf: 1 }),
      contextRestarts({ items: [{ fact: ["one"] }], effects: { more: ["u"] }, stash: { take: () => undefined } }),
      prepareIteration(() => undefined),
      detectLoops({ threshold: 5, action: "warn" }),
      stopWhen([() => false]),
      preToolText({ endAfterTextFamilies: ["none"], suppressFollowUpAfterText: ["none"] }),
      gateTools(gate),
      processResults({
        processor: (_: string, output: string) => `${output}.`,
        extractor: { threshold: 0, extract: () => "E" },
        cacher: { threshold: 0, store: () => "S" },
      }),
      approve(() => ({ kind: "approve" })),
    ],
    limits: { maxIterations: 5, maxToolCalls: 4, maxTokens: 1_000_000, wallClockMs: 60_000 },
    timeouts: { toolMs: 1_000, callbackMs: 1_000 },
    session: { detailsLabel: "[More]", responseTarget: { kind: "default", name: "Ann" }, surfaceUserErrors: true },
    answers: {},
  };
}

/** The fields of middleware are no options. */
const isMiddleware = (value: object): boolean => "name" in value && ("begin" in value || "pure" in value);

function pathsIn(value: unknown, path: readonly string[] = []): readonly (readonly string[])[] {
  if (typeof value !== "object" || value === null || value instanceof Map || isMiddleware(value)) return [];
  return Object.keys(value).flatMap((key) => [[...path, key], ...pathsIn((value as Fields)[key], [...path, key])]);
}

const wrong: { readonly [how: string]: (holder: Fields, key: string) => void } = {
  "is set to null": (holder, key) => (holder[key] = null),
  "is set to a number": (holder, key) => (holder[key] = 5),
  "is set to an empty object": (holder, key) => (holder[key] = {}),
  "is set to a symbol": (holder, key) => (holder[key] = Symbol("no")),
  "is deleted": (holder, key) => void delete holder[key],
};

async function run(change: (options: Fields) => void, gate = createGate()): Promise<unknown> {
  const options = createOptions(gate);
  const mock = createMockProvider([[text("Let me see. "), toolCall("t"), toolCall("context")], toolCall("t"), text("Done.")]);
  const provider = {
    ...{ id: "p", model: "m", family: "f" },
    stream: (...[request, call]: Parameters<typeof mock.stream>) => {
      change(options);
      return mock.stream(request, call);
    },
  };
  const tools = [
    tool("t", () => (change(options), "a result")),
    tool("u", () => "hidden"),
    tool("context", () => ({ type: "context_restart_more", context: "more" })),
  ];
  Object.assign(options, { provider, tools, clock: createTestClock(), runId: "changed" });
  const result = await runToolLoop(options as unknown as LoopOptions);
  const requests = mock.requests.map(({ messages, system, tools: shown, toolChoice, settings }) => ({
    ...{ messages, system, toolChoice, settings },
    shown: shown.map(({ name }) => name),
  }));
  return JSON.parse(JSON.stringify({ ...result, journal: undefined, requests }));
}

describe("a change to a running loop's options", () => {
  let unchanged: unknown;
  beforeAll(async () => void (unchanged = await run(() => {})));

  const rows = pathsIn(createOptions(createGate())).flatMap((path) =>
    Object.keys(wrong).map((how) => [path.join("."), how] as const),
  );

  it("is tested in more than 250 variants", () => {
    expect(rows.length).toBeGreaterThan(250);
  });

  it.for(rows)("has no effect if options.%s %s", async ([path, how]) => {
    const keys = path.split(".");
    const last = keys.pop() ?? "";
    const changed = await run((options) => {
      let holder: unknown = options;
      for (const key of keys) holder = typeof holder === "object" && holder !== null ? (holder as Fields)[key] : undefined;
      if (typeof holder === "object" && holder !== null) wrong[how]?.(holder as Fields, last);
    });
    expect(changed).toEqual(unchanged);
  });

  it("has no effect if a list or a Map in gateTools is emptied", async () => {
    const gate = createGate();
    const changed = await run(() => {
      gate.triggerMatchByToolName.clear();
      gate.allowedNames.length = 0;
    }, gate);
    expect(changed).toEqual(unchanged);
  });
});
