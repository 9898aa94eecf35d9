import { createMockProvider, finish, text, toolCall, usage } from "turnwright/testing";
import { contextRestarts, type LoopOptions } from "turnwright";
import { describe, expect, it } from "vitest";
import { describeCacheBreak, summarizeCacheBreak } from "../../../src/inspect/analysis/describe-cache-break.ts";
import { findCacheBreaks } from "../find-cache-breaks.ts";
import { modelsOf } from "../../../src/inspect/analysis/run-totals.ts";
import { optionsFor } from "../log-run.ts";
import { editAt, logEdited } from "./logged-runs.ts";

describe("findCacheBreaks", () => {
  it("compares a request with the last request to the same model", async () => {
    const answers = ["big", "small", "big", "small", "big"];
    const run = await logEdited(
      optionsFor(4),
      editAt(3, ({ messages }) => ({ messages: [{ role: "user", content: "Go now." }, ...messages.slice(1)] })),
    );
    const iterations = run.iterations.map((iteration, at) => ({ ...iteration, model: answers[at] }));
    expect(modelsOf({ model: "big", iterations })).toEqual(["big", "small"]);
    const breaks = findCacheBreaks({ ...run, iterations });
    expect(
      breaks.map(({ iteration, earlier, isSwitchedBack, causes }) => [iteration, earlier.iteration, isSwitchedBack, causes]),
    ).toEqual([
      [1, 0, false, [{ kind: "model-changed", values: ["big", "small"] }]],
      [3, 1, true, [{ kind: "messages-edited", count: 1 }]],
    ]);
    const [, edited] = breaks;
    expect(edited && describeCacheBreak(edited)).toContain(
      "broke here: since the request of iteration 1, the last one to this model, 1 message was edited. ",
    );
  });

  it("reports a cache that the service did not read even though the prefix is the same", async () => {
    const cached = [900, 950, 0, 0];
    const provider = createMockProvider(({ iteration }) => [
      iteration < 3 ? toolCall("look_up", { iteration }) : text("Done."),
      usage({ inputTokens: 1_000, outputTokens: 10, cachedInputTokens: cached[iteration] ?? 0 }),
    ]);
    const [found, ...others] = findCacheBreaks(await logEdited({ ...optionsFor(3), provider }));
    expect([found?.iteration, found?.causes, found?.lostChars, others]).toEqual([2, [{ kind: "cache-unread" }], 0, []]);
    expect(found && describeCacheBreak({ ...found, afterMs: 8_400 })).toBe(
      "The prefix is the same, but the service read 0 tokens, 8.40 s after the previous request: its cache entry may have expired.",
    );
    expect(found && summarizeCacheBreak(found)).toBe("cache not read");
  });

  const paused = [
    [toolCall("look_up"), finish("tool-calls")],
    [text("One, "), finish("paused")],
    [text("two, "), finish("paused")],
    text("three."),
  ];
  it.for<[what: string, more: Partial<LoopOptions>]>([
    ["context items move to the end of each request", {}],
    ["a paused message becomes longer", { provider: createMockProvider(paused), middleware: [] }],
    ["both happen", { provider: createMockProvider(paused) }],
  ])("finds no break if %s, as watchPromptCache does", async ([, more]) => {
    const run = await logEdited({ ...optionsFor(3), middleware: [contextRestarts({ items: ["It is noon."] })], ...more });
    expect([run.iterations.length, findCacheBreaks(run).map(({ causes }) => causes)]).toEqual([4, []]);
  });
});
