import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  approve,
  contextRestart,
  contextRestarts,
  createToolRegistry,
  defineTool,
  gateTools,
  type LoopOptions,
  onIteration,
  prepareIteration,
} from "turnwright";
import type { TriggerMatch } from "../../../src/core/types/loop-event.ts";
import { type MockMessage, text, toolCall } from "turnwright/testing";
import { answersOf, never, outcomesOf, play, tool, type Playing } from "../play.ts";

const trigger: TriggerMatch = { trigger: "who*", match: "who", source: "stem" };
const restart = contextRestart({ type: "context_restart_profile", pending_context_key: "k" });

function startNoting(
  turns: readonly MockMessage[],
  allowedNames: readonly string[],
): { readonly log: string[]; readonly playing: Playing } {
  const log: string[] = [];
  const note = <Value>(step: string, value: Value): Value => (log.push(step), value);
  const inputSchema = z.object({}).refine(() => note("validate", true));
  const noting = (name: string, value: unknown): ReturnType<typeof tool> =>
    defineTool({ name, description: name, inputSchema, execute: () => note(`execute ${name}`, value) });
  const playing = play(turns, {
    tools: [noting("enrich", restart), noting("plain", 1), noting("other", 1)],
    middleware: [
      onIteration(() => note("iteration", undefined)),
      contextRestarts({ stash: { take: (key) => note(`take ${key}`, 7) } }),
      prepareIteration(({ iteration }) => note(`iteration ${iteration}`, undefined)),
      gateTools({
        active: true,
        allowedNames,
        triggerMatchByToolName: new Map([
          ["enrich", trigger],
          ["plain", trigger],
        ]),
        retain: (name) => note(`retain ${name}`, undefined),
      }),
      approve(({ name }) => note(`approve ${name}`, { kind: "approve" })),
    ],
  });
  playing.options.events
    ?.on("hidden-notice", ({ name }) => note(`hidden-notice ${name}`, undefined))
    .on("restart", () => note("restart", undefined))
    .on("tool-start", ({ name }) => note(`start ${name}`, undefined))
    .on("tool-end", ({ name }) => note(`end ${name}`, undefined));
  return { log, playing };
}

describe("a call's callbacks and events", () => {
  it("occur in a fixed order", async () => {
    const { log, playing } = startNoting([toolCall("enrich"), text("Done.")], ["enrich"]);
    await playing.result;
    expect(log).toEqual([
      ...["iteration 0", "validate", "approve enrich", "start enrich", "execute enrich", "retain enrich"],
      ...["end enrich", "hidden-notice enrich", "take k", "restart", "iteration", "iteration 1"],
    ]);
  });

  it("occur phase by phase for all calls in the batch", async () => {
    const { log, playing } = startNoting([[toolCall("plain"), toolCall("enrich")], text("Done.")], ["plain", "enrich"]);
    await playing.result;
    expect(log.filter((step) => step !== "take k" && !/^(start|end) /.test(step))).toEqual([
      ...["iteration 0", "validate", "validate", "approve plain", "approve enrich", "execute plain", "execute enrich"],
      ...["retain plain", "hidden-notice plain", "retain enrich", "hidden-notice enrich", "restart", "iteration", "iteration 1"],
    ]);
  });

  it("consist of tool-end alone if gateTools blocks the call", async () => {
    const { log, playing } = startNoting([toolCall("enrich"), text("Done.")], []);
    await playing.result;
    expect(log).toEqual(["iteration 0", "end enrich", "iteration", "iteration 1"]);
    expect(answersOf(await playing.result)[0]?.result).toEqual({
      status: "blocked_by_deliberate_tool_mode",
      functionName: "enrich",
      allowedToolNames: [],
    });
  });
});

describe("a tool call", () => {
  it.for<[outcome: string, execute: () => unknown, more?: Partial<LoopOptions>]>([
    ["completed", () => 1],
    ["restarted", () => contextRestart({ type: "context_restart_x" })],
    ["failed", () => Promise.reject(new Error("no"))],
    ["timed-out", () => never],
  ])("is executed once if its outcome is %s", async ([outcome, execute]) => {
    let dispatched = 0;
    const inner = createToolRegistry([tool("work", execute)]);
    const registry = {
      definitions: () => inner.definitions(),
      executeTool: (...given: Parameters<typeof inner.executeTool>): unknown => {
        dispatched += 1;
        return inner.executeTool(...given);
      },
    };
    const playing = play([toolCall("work"), text("Done.")], { tools: registry, middleware: [contextRestarts()] });
    await playing.clock.runAll();
    expect([outcomesOf(await playing.result), dispatched]).toEqual([[`call_i0_0: ${outcome}`], 1]);
  });

  it("reports its duration in tool-end", async () => {
    const playing = play([toolCall("work"), text("Done.")], ({ clock }) => ({
      tools: [tool("work", () => new Promise((resolve) => void clock.setTimeout(() => resolve(1), 70)))],
    }));
    await playing.clock.advance(70);
    await playing.result;
    expect(playing.recording.of("tool-end")).toMatchObject([{ name: "work", outcome: "completed", durationMs: 70 }]);
  });

  it("ends immediately after control.kill(), without a history entry or another request", async () => {
    const playing = play([toolCall("work")], { tools: [tool("work", () => never)] });
    await playing.clock.advance(100);
    playing.control.kill();
    const result = await playing.result;
    expect([result.status, playing.endedAt(), result.functionHistory, playing.provider.calls]).toEqual([
      ...["stopped-by-user", 100, [], 1],
    ]);
    expect(outcomesOf(result)).toEqual(["call_i0_0: interrupted"]);
  });

  it("can pass on its signal, which control.kill() aborts", async () => {
    let cut: unknown;
    const fetchLike = (signal: AbortSignal): Promise<never> =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject((cut = signal.reason))));
    const playing = play([toolCall("work")], { tools: [tool("work", (_, { signal }) => fetchLike(signal))] });
    await playing.clock.flush();
    playing.control.kill();
    await playing.result;
    expect(cut).toMatchObject({ name: "AbortError" });
  });
});

describe("a deliberate tool's hidden-notice event", () => {
  const argsTold = async (args: object): Promise<{ readonly told: unknown; readonly given: unknown }> => {
    let given: unknown;
    const search = tool("search", (got) => void (given = got));
    const gate = { active: true, triggerMatchByToolName: new Map([["search", trigger]]) };
    const playing = play([toolCall("search", JSON.parse(JSON.stringify(args))), text("Done.")], {
      tools: [search],
      middleware: [gateTools(gate)],
    });
    await playing.result;
    return { told: playing.recording.of("hidden-notice")[0]?.args, given };
  };

  it("contains the call's arguments", async () => {
    const args = { query: "tides", options: [{ limit: 3, exact: true, near: null }] };
    expect((await argsTold(args)).told).toEqual(args);
  });

  it("redacts secrets, which the tool still receives", async () => {
    const args = {
      query: "tides",
      note: "Bearer abc123def456ghi",
      nested: [{ url: "https://ada:pass1234@example.org/x" }, "sk-abc123def456ghi"],
      password: "correct horse",
      deep: { apiKey: "0123456789" },
    };
    const { told, given } = await argsTold(args);
    const said = JSON.stringify(told);
    for (const secret of ["abc123def456ghi", "pass1234", "correct horse", "0123456789"]) expect(said).not.toContain(secret);
    expect(told).toMatchObject({ query: "tides" });
    expect(given).toEqual(args);
  });

  it("is short even if the arguments are long", async () => {
    const { told, given } = await argsTold({ query: "x".repeat(1_000_000) });
    expect(JSON.stringify(told).length).toBeLessThan(10_000);
    expect(given).toEqual({ query: "x".repeat(1_000_000) });
  });
});
