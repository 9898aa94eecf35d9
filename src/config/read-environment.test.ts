import { afterEach, describe, expect, it, vi } from "vitest";
import { isLoopError, runToolLoop } from "turnwright";
import { createMockProvider, createTestClock, stall, text, toolCall } from "turnwright/testing";
import { readEnvironment } from "turnwright/config";
import type { EnvironmentProblem } from "./read-environment.ts";

const counts = { default: undefined, min: 1, max: 10_000 } as const;
const times = { default: undefined, min: 10_000, max: 2_147_483_647 } as const;

const variables = [
  ["TURNWRIGHT_MAX_ITERATIONS", "limits.maxIterations", { ...counts, default: 100 }],
  ["TURNWRIGHT_MAX_CONSECUTIVE_TOOL_ERRORS", "limits.maxConsecutiveToolErrors", { ...counts, default: 5 }],
  ["TURNWRIGHT_STREAM_IDLE_MS", "timeouts.streamIdleMs", { ...times, default: 120_000 }],
  ["TURNWRIGHT_TOOL_MS", "timeouts.toolMs", { ...times, default: 300_000 }],
] as const;

function readNumbers(env?: { readonly [name: string]: unknown }): { [path: string]: number } {
  const { limits, timeouts, ...rest } = readEnvironment(env);
  expect(Object.keys(rest)).toEqual(["problems"]);
  const flat = Object.entries({ limits, timeouts }).flatMap(([group, numbers]) =>
    Object.entries(numbers).map(([option, number]): [string, number] => [`${group}.${option}`, number]),
  );
  return Object.fromEntries(flat);
}

const defaults = Object.fromEntries(variables.map(([, path, range]) => [path, range.default]));

describe.for(variables)("readEnvironment with the variable %s", ([name, path, range]) => {
  it.for<[value: unknown, problem: EnvironmentProblem["problem"] | undefined, used: number]>([
    [undefined, undefined, range.default],
    [`${range.min}`, undefined, range.min],
    [`${range.min + 1}`, undefined, range.min + 1],
    [`${range.max}`, undefined, range.max],
    [` ${range.min}\r\n`, undefined, range.min],
    [`+${range.min}`, undefined, range.min],
    [`000${range.min}`, undefined, range.min],
    [range.min, undefined, range.min],
    [`${range.min - 1}`, "below-minimum", range.min],
    ["-0", "below-minimum", range.min],
    ["-5", "below-minimum", range.min],
    [`-${range.max}`, "below-minimum", range.min],
    [-5, "below-minimum", range.min],
    [`${range.max + 1}`, "above-maximum", range.max],
    ["1000000000000", "above-maximum", range.max],
    ["9".repeat(400), "above-maximum", range.max],
    [1e12, "above-maximum", range.max],
    ["", "blank", range.default],
    ["   ", "blank", range.default],
    ["\t\n", "blank", range.default],
    ["10abc", "not-a-whole-number", range.default],
    ["30s", "not-a-whole-number", range.default],
    ["1e9", "not-a-whole-number", range.default],
    ["1e12", "not-a-whole-number", range.default],
    ["0x10", "not-a-whole-number", range.default],
    ["10.5", "not-a-whole-number", range.default],
    ["10.0", "not-a-whole-number", range.default],
    ["20,000", "not-a-whole-number", range.default],
    ["20_000", "not-a-whole-number", range.default],
    ["20 000", "not-a-whole-number", range.default],
    ["20000\n20000", "not-a-whole-number", range.default],
    ["--5", "not-a-whole-number", range.default],
    ["+", "not-a-whole-number", range.default],
    ["NaN", "not-a-whole-number", range.default],
    ["Infinity", "not-a-whole-number", range.default],
    ["٢٠٠٠٠", "not-a-whole-number", range.default],
    ["true", "not-a-whole-number", range.default],
    [10_000.5, "not-a-whole-number", range.default],
    [Number.NaN, "not-a-whole-number", range.default],
    [Number.POSITIVE_INFINITY, "not-a-whole-number", range.default],
    [10_000n, "not-a-whole-number", range.default],
    [true, "not-a-whole-number", range.default],
    [null, "not-a-whole-number", range.default],
    [["20000"], "not-a-whole-number", range.default],
  ])("uses $2 for the value $0", ([value, problem, used]) => {
    const env = { [name]: value };
    expect(readNumbers(env)).toEqual({ ...defaults, [path]: used });
    const told: EnvironmentProblem[] = [];
    const { problems } = readEnvironment(env, { onProblem: (one) => told.push(one) });
    expect(problems).toEqual(problem === undefined ? [] : [{ name, value: expect.any(String), problem, used }]);
    expect(told).toEqual(problems);
  });
});

describe("readEnvironment", () => {
  it("reports each invalid value once, in the order of the variables", () => {
    const env = {
      TURNWRIGHT_TOOL_MS: "5m",
      TURNWRIGHT_STREAM_IDLE_MS: "9999",
      TURNWRIGHT_MAX_CONSECUTIVE_TOOL_ERRORS: "",
      TURNWRIGHT_MAX_ITERATIONS: "20000",
      OTHER: "10abc",
    };
    expect(readEnvironment(env)).toEqual({
      limits: { maxIterations: 10_000, maxConsecutiveToolErrors: 5 },
      timeouts: { streamIdleMs: 10_000, toolMs: 300_000 },
      problems: [
        { name: "TURNWRIGHT_MAX_ITERATIONS", value: "20000", problem: "above-maximum", used: 10_000 },
        { name: "TURNWRIGHT_MAX_CONSECUTIVE_TOOL_ERRORS", value: "", problem: "blank", used: 5 },
        { name: "TURNWRIGHT_STREAM_IDLE_MS", value: "9999", problem: "below-minimum", used: 10_000 },
        { name: "TURNWRIGHT_TOOL_MS", value: "5m", problem: "not-a-whole-number", used: 300_000 },
      ],
    });
  });

  it.for<[title: string, value: unknown, shown: string]>([
    ["only 64 characters of a long value", "x".repeat(100_000), `${"x".repeat(64)}…`],
    ["[redacted] in place of a credential", "sk-abc123def456ghi789", "[redacted]"],
    ['the text "an object" for an object', { secret: 1 }, "an object"],
    ["the number NaN unchanged", Number.NaN, "NaN"],
  ])("shows %s in the returned problems", ([, value, shown]) => {
    const { problems } = readEnvironment({ TURNWRIGHT_TOOL_MS: value });
    expect(problems.map((problem) => problem.value)).toEqual([shown]);
    expect(JSON.parse(JSON.stringify(problems))).toEqual(problems);
  });

  it("returns the defaults for an env object without a prototype, or with unrelated keys", () => {
    expect(readNumbers(Object.create(null))).toEqual(defaults);
    expect(readNumbers(JSON.parse('{ "__proto__": { "TURNWRIGHT_TOOL_MS": "20000" }, "constructor": "1" }'))).toEqual(defaults);
  });

  it("neither changes the environment nor prints anything", () => {
    const printed = (["log", "warn", "error", "info", "debug"] as const).map((verb) => vi.spyOn(console, verb));
    const env = Object.freeze({ TURNWRIGHT_TOOL_MS: "soon" });
    expect(readEnvironment(env).problems).toHaveLength(1);
    for (const spy of printed) expect(spy).not.toHaveBeenCalled();
    vi.restoreAllMocks();
  });

  it.for<[title: string, read: () => unknown, option: string]>([
    ["a string as the environment", () => readEnvironment("A=1" as never), "env"],
    ["null as the environment", () => readEnvironment(null as never), "env"],
    ["an onProblem that is not a function", () => readEnvironment({}, { onProblem: true as never }), "onProblem"],
    ["null as options", () => readEnvironment({}, null as never), "options"],
  ])("rejects %s", ([, read, option]) => {
    let thrown: unknown;
    try {
      read();
    } catch (error) {
      thrown = error;
    }
    expect(isLoopError(thrown, "invalid-option") && thrown.details.option).toBe(option);
  });
});

it("readEnvironment: rejects an unknown option and suggests the nearest one", () => {
  const read = (): unknown => Reflect.apply(readEnvironment, undefined, [{}, { onProblems: () => {} }]);
  expect(read).toThrow('There is no option "onProblems". Did you mean "onProblem"?');
});

describe("readEnvironment without an argument", () => {
  afterEach(() => {
    vi.unstubAllEnvs();
    vi.unstubAllGlobals();
  });

  it("reads the environment of the process", () => {
    vi.stubEnv("TURNWRIGHT_TOOL_MS", "45000");
    expect(readNumbers()["timeouts.toolMs"]).toBe(45_000);
  });

  it.for<[title: string, host: unknown]>([
    ["no process", undefined],
    ["a process without an environment", {}],
    ["a process whose environment is not an object", { env: "A=1" }],
    ["an unrelated global named process", "a worker"],
  ])("returns the defaults on a platform with %s", ([, host]) => {
    vi.stubGlobal("process", host);
    const numbers = readNumbers();
    vi.unstubAllGlobals();
    expect(numbers).toEqual(defaults);
  });
});

describe("runToolLoop with readEnvironment", () => {
  const messages = [{ role: "user", content: "Go." }] as const;

  it("uses the defaults if no variable is set", async () => {
    const { limits, timeouts } = readEnvironment({});
    const clock = createTestClock();
    const run = runToolLoop({ provider: createMockProvider([[text("Hm."), stall()]]), messages, clock, limits, timeouts });
    await clock.runAll();
    expect((await run).reason).toEqual({ kind: "stream-idle", limitMs: 120_000 });
  });

  it("ends at the limits and timeouts that the variables set", async () => {
    const { limits, timeouts } = readEnvironment({
      TURNWRIGHT_MAX_ITERATIONS: "3",
      TURNWRIGHT_MAX_CONSECUTIVE_TOOL_ERRORS: "2",
      TURNWRIGHT_STREAM_IDLE_MS: "20000",
      TURNWRIGHT_TOOL_MS: "1",
    });
    const endOf = async (...script: Parameters<typeof createMockProvider>): Promise<unknown> => {
      const clock = createTestClock();
      const tools = [
        { name: "ok", description: "ok", inputSchema: { type: "object" }, execute: () => 1 },
        { name: "stuck", description: "stuck", inputSchema: { type: "object" }, execute: () => new Promise(() => {}) },
      ] as const;
      const run = runToolLoop({ provider: createMockProvider(...script), messages, clock, limits, timeouts, tools });
      await clock.runAll();
      const result = await run;
      return [result.reason, clock.now()];
    };
    expect(await endOf(() => toolCall("ok"))).toEqual([{ kind: "max-iterations", limit: 3 }, 0]);
    expect(await endOf([[text("Hm."), stall()]])).toEqual([{ kind: "stream-idle", limitMs: 20_000 }, 20_000]);
    expect(await endOf(() => toolCall("stuck"))).toEqual([{ kind: "tool-error-cap", count: 2 }, 20_000]);
  });
});

it("readEnvironment: reads the variables under the names in the `names` option", () => {
  const names = { maxIterations: "MAX_STEPS", toolMs: "TOOL_LIMIT" };
  const env = { MAX_STEPS: "7", TOOL_LIMIT: "soon", TURNWRIGHT_MAX_ITERATIONS: "9", TURNWRIGHT_STREAM_IDLE_MS: "20000" };
  const { limits, timeouts, problems } = readEnvironment(env, { names });
  expect([limits.maxIterations, timeouts]).toEqual([7, { streamIdleMs: 20_000, toolMs: 300_000 }]);
  expect(problems).toEqual([{ name: "TOOL_LIMIT", value: "soon", problem: "not-a-whole-number", used: 300_000 }]);
});

it.each([[{ maxIterations: "" }], [{ toolMs: 7 }], [{ iterations: "X" }], ["X"]])(
  "readEnvironment: rejects the value %j for the `names` option",
  (names) => {
    expect(() => readEnvironment({}, { names: names as never })).toThrow(expect.objectContaining({ name: "LoopError" }));
  },
);
