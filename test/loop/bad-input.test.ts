import { EventEmitter } from "node:events";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createToolRegistry, processResults } from "turnwright";
import { createResultCache } from "turnwright/cache";
import { text } from "turnwright/testing";
import { play, tool } from "./play.ts";
import { refusal } from "./refusal.ts";

describe("the options of runToolLoop", () => {
  const limits = [
    "maxIterations",
    "softWarnIteration",
    "maxConsecutiveToolErrors",
    "maxRestarts",
    "maxPauses",
    "toolConcurrency",
    "maxToolCalls",
    "maxTokens",
    "wallClockMs",
  ];
  const timeouts = ["streamIdleMs", "firstChunkMs", "toolMs", "settleMs", "approvalMs", "hookMs", "journalMs"];
  const mayBeZero = ["softWarnIteration", "maxRestarts", "maxPauses", "settleMs"];
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
    ["contextItems", ["It is night.", {}, [7n], [undefined], [() => 1]]],
    ["repair", ["yes", 1, null]],
    ["limits", [7, [], null]],
    ["timeouts", [7, [], null]],
    ["pricing", [0.01, {}]],
    ["policies", [7, [], null]],
    ["policies.gate", [true, 7, [], null]],
    ["policies.gate.active", [undefined, "yes", null]],
    ["policies.gate.allowedNames", [5, "search", {}]],
    ["policies.gate.triggerMatchByToolName", [{}, 7]],
    ["policies.gate.retain", [true]],
    ["policies.approve", [true, {}]],
    ["policies.restarts", [7, null, []]],
    ["policies.restarts.effects", [7, null, ["search"]]],
    ["policies.restarts.effects.profile", ["search", [7], ["search", null], null, undefined, {}]],
    ["policies.finalAnswer", ["yes", 1]],
    ["hooks", [7, [], null, () => 1]],
    ["hooks.prepareIteration", [true, {}]],
    ["hooks.onIteration", [true, {}]],
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
  ])("are rejected if the option %s has a value of the wrong type", async ([option, values]) => {
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
    ["a limit outside the object limits", { maxIterations: 5 }, "maxIterations", "limits.maxIterations"],
    ["a misspelled limit", { limits: { maxIteration: 5 } }, "limits.maxIteration", "limits.maxIterations"],
    ["a misspelled timeout", { timeouts: { streamIdle: 5 } }, "timeouts.streamIdle", "timeouts.streamIdleMs"],
    [
      "a misspelled field of the gate",
      { policies: { gate: { active: true, allowedName: [] } } },
      "policies.gate.allowedName",
      "policies.gate.allowedNames",
    ],
    [
      "a misspelled model setting",
      { modelSettings: { maxTokens: 5 } },
      "modelSettings.maxTokens",
      "modelSettings.maxOutputTokens",
    ],
    ["a misspelled policy", { policies: { aprove: () => 1 } }, "policies.aprove", "policies.approve"],
    [
      "a misspelled field of policies.restarts",
      { policies: { restarts: { effect: {} } } },
      "policies.restarts.effect",
      "policies.restarts.effects",
    ],
    ["a misspelled hook", { hooks: { onIteratoin: () => 1 } }, "hooks.onIteratoin", "hooks.onIteration"],
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
    [
      "a misspelled field of policies.preToolText",
      { policies: { preToolText: { endAfterTextFamily: [] } } },
      "policies.preToolText.endAfterTextFamily",
      "policies.preToolText.endAfterTextFamilies",
    ],
    ["a limit named __proto__", JSON.parse('{"limits": {"__proto__": 5}}'), "limits.__proto__", undefined],
    ["a limit named toString", { limits: { toString: 5 } }, "limits.toString", undefined],
    ["an unknown option with the value undefined", { something: undefined }, "something", undefined],
  ])('are rejected with "unknown-option" if they contain %s', async ([, bad, option, nearest]) => {
    expect(await refusal(bad)).toMatchObject({ code: "unknown-option", details: { option, nearest } });
  });

  it.for<[what: string, bad: object, message: string]>([
    [
      "a schema as policies.output",
      { policies: { output: z.string() } },
      'Option "policies.output" must be made by structuredOutput, but is an object.',
    ],
    [
      "a cacher without its tool",
      { policies: { results: processResults({ cacher: createResultCache().cacher }) } },
      'Option "tools" must be an array with the tool "read_part"',
    ],
    ["a saved journal", { journal: { steps: {} } }, "memoryJournal(saved)"],
    [
      "plain options as policies.loopDetection",
      { policies: { loopDetection: { threshold: 3 } } },
      "must be made by detectLoops, but is an object.",
    ],
  ])("are rejected with a message that explains the fix if they contain %s", async ([, bad, message]) => {
    expect((await refusal(bad)).message).toContain(message);
  });

  it("are rejected if `cacher` is the cache itself, and not the field `cacher` of the cache", () => {
    expect(() => processResults({ cacher: createResultCache() as never })).toThrow(
      'Option "policies.results.cacher.store" must be a function, but is undefined.',
    );
  });

  it("are accepted with a cacher whose tool is missing if a registry can add the tool later", async () => {
    const policies = { results: processResults({ cacher: createResultCache().cacher }) };
    expect((await play([text("Hi.")], { tools: createToolRegistry(), policies }).result).text).toBe("Hi.");
  });

  it("are rejected with an error that states the length of an invalid string, but not its text", async () => {
    const { message } = await refusal({ limits: { maxIterations: "sk-abc123def456ghi789" } });
    expect(message).toBe(
      'Option "limits.maxIterations" must be a whole number of at least 1, or Infinity, but is a string of 21 characters.',
    );
  });
});

describe("the tools option", () => {
  const ok = tool("ok", () => 1);
  it.for<[what: string, tools: unknown, code: string]>([
    ["two tools of the same name", [ok, ok], "duplicate-tool"],
    ["a tool without a name", [{ ...ok, name: "" }], "invalid-tool"],
    ["a tool whose name has a space", [{ ...ok, name: "get weather" }], "invalid-tool"],
    ["a tool whose execute is a string", [{ ...ok, execute: "run" }], "invalid-tool"],
    ["a number in place of a tool", [7], "invalid-tool"],
    ["a tool with a misspelled field", [{ ...ok, timeoutMS: 5 }], "invalid-tool"],
    ["a tool with a timeoutMs of 0", [{ ...ok, timeoutMs: 0 }], "invalid-tool"],
    ["a tool with retry but without idempotent", [{ ...ok, retry: { maxAttempts: 2 } }], "invalid-tool"],
    ["a tool whose schema cannot become JSON Schema", [{ ...ok, inputSchema: z.object({ at: z.date() }) }], "invalid-schema"],
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
