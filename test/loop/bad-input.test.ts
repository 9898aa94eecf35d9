import { EventEmitter } from "node:events";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  approve,
  contextRestarts,
  createToolRegistry,
  finalAnswer,
  gateTools,
  onIteration,
  prepareIteration,
  preToolText,
  processResults,
  stopWhen,
} from "turnwright";
import { createResultCache } from "turnwright/cache";
import { text } from "turnwright/testing";
import { play, tool } from "./play.ts";
import { refusal } from "./refusal.ts";

describe("runToolLoop options", () => {
  const limits = [
    "maxIterations",
    "softWarnIteration",
    "maxConsecutiveToolErrors",
    "maxPauses",
    "toolConcurrency",
    "maxToolCalls",
    "maxTokens",
    "wallClockMs",
  ];
  const timeouts = ["streamIdleMs", "firstChunkMs", "toolMs", "toolCleanupMs", "approvalMs", "callbackMs", "journalMs"];
  const mayBeZero = ["softWarnIteration", "maxPauses", "toolCleanupMs"];
  const isTimed = (name: string): boolean => name.endsWith("Ms");
  const numbers = [...limits.map((name) => ["limits", name] as const), ...timeouts.map((name) => ["timeouts", name] as const)];

  it.for(numbers)("are rejected if %s.%s is neither a whole number in its range nor Infinity", async ([group, name]) => {
    const bad: unknown[] = [Number.NaN, -1, 1.5, "5", null, true, [], 5n, Number.NEGATIVE_INFINITY];
    if (!mayBeZero.includes(name)) bad.push(0);
    bad.push(isTimed(name) ? 2 ** 31 : 2 ** 53);
    for (const value of bad) {
      expect(await refusal({ [group]: { [name]: value } })).toMatchObject({
        code: "invalid-option",
        details: { option: `${group}.${name}` },
      });
    }
    const good: unknown[] = [1, Number.POSITIVE_INFINITY, undefined];
    if (mayBeZero.includes(name)) good.push(0);
    good.push(isTimed(name) ? 2 ** 31 - 1 : 2 ** 53 - 1);
    for (const value of good) {
      const { result } = play([text("Hi.")], { [group]: { [name]: value } });
      expect((await result).text).toBe("Hi.");
    }
  });

  it.for<[option: string, values: readonly unknown[]]>([
    ["provider", [undefined, null, "openai", {}, { id: "a", model: "b" }, { id: 1, model: "b", stream: () => [] }]],
    ["messages", [undefined, null, [], {}, "Go."]],
    ["tools", ["search", 7, {}, { definitions: () => [] }]],
    ["system", [7, ["Be brief."], null]],
    ["modelSettings", [7, [], null]],
    ["toolChoice", ["never", {}, { name: 7 }, 7]],
    ["limits", [7, [], null]],
    ["timeouts", [7, [], null]],
    ["pricing", [0.01, {}]],
    ["control", [{}, true, { stop: () => 1, kill: () => 1 }]],
    ["signal", [{}, new AbortController()]],
    ["events", [{}, { on: () => 1 }, new EventTarget(), new EventEmitter()]],
    ["journal", [{}, [], { step: () => 1 }]],
    ["runId", ["", 7, null]],
    ["resume", ["yes", true]],
    ["clock", [{}, Date]],
    ["session", [7, [], "me"]],
    ["session.responseTarget", [null, "default"]],
    ["session.responseTarget.kind", [undefined, null, 7]],
    ["session.userId", [7]],
  ])("are rejected if the %s option has a value of the wrong type", async ([option, values]) => {
    const path = option.split(".");
    for (const value of values) {
      const bad = path.reduceRight<unknown>((inner, key) => ({ [key]: inner }), value);
      const { code, details, message } = await refusal(Object(bad));
      expect([code, details], `value ${values.indexOf(value)}`).toEqual(["invalid-option", expect.objectContaining({ option })]);
      expect(message).toContain(`"${option}"`);
    }
  });

  it.for<[title: string, bad: object, option: string, nearest: string | undefined]>([
    ["a misspelled option", { tool: [] }, "tool", "tools"],
    ["a limit outside the limits object", { maxIterations: 5 }, "maxIterations", "limits.maxIterations"],
    ["a misspelled limit", { limits: { maxIteration: 5 } }, "limits.maxIteration", "limits.maxIterations"],
    ["a misspelled timeout", { timeouts: { streamIdle: 5 } }, "timeouts.streamIdle", "timeouts.streamIdleMs"],
    [
      "a misspelled model setting",
      { modelSettings: { maxTokens: 5 } },
      "modelSettings.maxTokens",
      "modelSettings.maxOutputTokens",
    ],
    [
      "a misspelled field of the session",
      { session: { surfaceUserError: false } },
      "session.surfaceUserError",
      "session.surfaceUserErrors",
    ],
    ["an unknown field of the session", { session: { tenant: "a" } }, "session.tenant", undefined],
    [
      "a misspelled field of the response target",
      { session: { responseTarget: { kind: "persona", nam: "Ada" } } },
      "session.responseTarget.nam",
      "session.responseTarget.name",
    ],
    ["a limit named __proto__", JSON.parse('{"limits": {"__proto__": 5}}'), "limits.__proto__", undefined],
    ["a limit named toString", { limits: { toString: 5 } }, "limits.toString", undefined],
    ["an unknown option with the value undefined", { something: undefined }, "something", undefined],
  ])('are rejected with "unknown-option" if they contain %s', async ([, bad, option, nearest]) => {
    expect(await refusal(bad)).toMatchObject({ code: "unknown-option", details: { option, nearest } });
  });

  it.for<[what: string, bad: object, message: string]>([
    ["a schema as middleware", { middleware: [z.string()] }, '.name" is undefined, but must be a name'],
    [
      "a cacher without its tool",
      { middleware: [processResults({ cacher: createResultCache().cacher })] },
      'Option "tools" is an array without the tool "read_part", but must be an array that includes it because processResults',
    ],
    ["a saved journal", { journal: { steps: {} } }, "memoryJournal(saved)"],
    ["a misspelled hook", { middleware: [{ name: "own", requests: () => 1 }] }, '.request"?'],
  ])("are rejected with a message that explains the fix if they contain %s", async ([, bad, message]) => {
    expect((await refusal(bad)).message).toContain(message);
  });

  it("are rejected if `cacher` is the cache itself instead of its `cacher` field", () => {
    expect(() => processResults({ cacher: createResultCache() as never })).toThrow(
      'Option "processResults.cacher.store" is undefined, but must be a function.',
    );
  });

  it("are accepted with a cacher whose tool is missing if a registry can add the tool later", async () => {
    const middleware = [processResults({ cacher: createResultCache().cacher })];
    expect((await play([text("Hi.")], { tools: createToolRegistry(), middleware }).result).text).toBe("Hi.");
  });

  it("are rejected with an error that states the length of an invalid string, but not its text", async () => {
    const { message } = await refusal({ limits: { maxIterations: "sk-abc123def456ghi789" } });
    expect(message).toBe(
      'Option "limits.maxIterations" is a string of 21 characters, but must be a whole number of at least 1, or Infinity.',
    );
  });
});

describe("middleware with wrong options", () => {
  const makers: { readonly [name: string]: (options: never) => unknown } = {
    approve,
    contextRestarts,
    finalAnswer,
    gateTools,
    onIteration,
    preToolText,
    prepareIteration,
    stopWhen,
  };

  it.for<[option: string, values: readonly unknown[]]>([
    ["approve", [true, {}, null]],
    ["onIteration", [true, {}, undefined]],
    ["prepareIteration", [true, {}, undefined]],
    ["stopWhen", [true, [7], null]],
    ["gateTools", [true, 7, [], null, undefined]],
    ["gateTools.active", [undefined, "yes", null]],
    ["gateTools.allowedNames", [5, "search", {}]],
    ["gateTools.triggerMatchByToolName", [{}, 7]],
    ["gateTools.retain", [true]],
    ["contextRestarts", [7, null, []]],
    ["contextRestarts.effects", [7, null, ["search"]]],
    ["contextRestarts.effects.profile", ["search", [7], ["search", null], null, undefined, {}]],
    ["contextRestarts.items", ["It is night.", {}, [7n], [undefined], [() => 1]]],
    ["contextRestarts.maxRestarts", [-1, 1.5, "5", null]],
    ["contextRestarts.stash", [{}, { put: () => "k" }]],
    ["finalAnswer", [true, null, "yes"]],
    ["finalAnswer.reserve.tokens", [0, 1.5, "5", Number.POSITIVE_INFINITY]],
    ["preToolText", [7, null]],
    ["preToolText.endAfterTextFamilies", ["novelai", [7]]],
    ["preToolText.suppressFollowUpAfterText", [new Set(["plain"]), [null]]],
  ])("throws invalid-option if %s has a value of the wrong type", ([option, values]) => {
    const [name = "", ...path] = option.split(".");
    for (const value of values) {
      const bad = path.reduceRight<unknown>((inner, key) => ({ [key]: inner }), value);
      const details = expect.objectContaining({ option }) as unknown;
      const expected = expect.objectContaining({ code: "invalid-option", details }) as Error;
      expect(() => makers[name]?.(bad as never), `value ${values.indexOf(value)}`).toThrow(expected);
    }
  });

  it.for<[option: string, nearest: string | undefined, options: object]>([
    // A gate without its misspelled names would allow all tools.
    ["gateTools.allowedName", "gateTools.allowedNames", { active: true, allowedName: [] }],
    ["contextRestarts.effect", "contextRestarts.effects", { effect: {} }],
    ["finalAnswer.reserves", "finalAnswer.reserve", { reserves: {} }],
    ["finalAnswer.reserve.usd", undefined, { reserve: { usd: 1 } }],
    ["preToolText.endAfterTextFamily", "preToolText.endAfterTextFamilies", { endAfterTextFamily: [] }],
    ["preToolText.families", undefined, { families: [] }],
  ])("throws unknown-option for %s", ([option, nearest, options]) => {
    const details = expect.objectContaining({ option, nearest }) as unknown;
    const make = (): unknown => makers[option.split(".")[0] ?? ""]?.(options as never);
    expect(make).toThrow(expect.objectContaining({ code: "unknown-option", details }) as Error);
  });
});

describe("the tools option", () => {
  const ok = tool("ok", () => 1);
  it.for<[what: string, tools: unknown, code: string]>([
    ["two tools with the same name", [ok, ok], "duplicate-tool"],
    ["a tool without a name", [{ ...ok, name: "" }], "invalid-tool"],
    ["a tool whose name has a space", [{ ...ok, name: "get weather" }], "invalid-tool"],
    ["a tool whose execute is a string", [{ ...ok, execute: "run" }], "invalid-tool"],
    ["a number in place of a tool", [7], "invalid-tool"],
    ["a tool with a misspelled field", [{ ...ok, timeoutMS: 5 }], "invalid-tool"],
    ["a tool with a timeoutMs of 0", [{ ...ok, timeoutMs: 0 }], "invalid-tool"],
    ["a tool with retry but without idempotent", [{ ...ok, retry: { maxAttempts: 2 } }], "invalid-tool"],
    [
      "a tool whose schema cannot be converted to JSON Schema",
      [{ ...ok, inputSchema: z.object({ at: z.date() }) }],
      "invalid-schema",
    ],
    ["a tool whose schema has the type string", [{ ...ok, inputSchema: { type: "string" } }], "invalid-schema"],
  ])("is rejected if it contains %s", async ([, tools, code]) => {
    expect(await refusal({ tools })).toMatchObject({ code });
  });

  it("can be absent, an empty list or an empty registry", async () => {
    for (const tools of [undefined, [], createToolRegistry()]) {
      expect((await play([text("Hi.")], { tools }).result).text).toBe("Hi.");
    }
  });
});
