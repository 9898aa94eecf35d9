// Resumes runs from their saved journals, as another process does after a deploy.

import {
  contextRestarts,
  defineTool,
  type LoopOptions,
  maskResults,
  memoryJournal,
  type SavedJournal,
  type Tool,
} from "turnwright";
import { createMockProvider } from "turnwright/testing";
import { describe, expect, it } from "vitest";
import { look, playWatched, rounds, type Watched } from "./play-watched.ts";

const messages = [{ role: "user", content: "Look around." }] as const;
const other = (name: string, description = "Other"): Tool =>
  defineTool({ name, description, inputSchema: { type: "object" }, execute: () => "ok" });

async function resume(before: Partial<LoopOptions>, after: Partial<LoopOptions>, iterations = 5): Promise<Watched> {
  const journal = memoryJournal();
  const first = await playWatched(rounds(iterations), { ...before, runId: "r", journal, limits: { maxIterations: 3 } });
  expect(first.result.reason.kind).toBe("max-iterations");
  const saved: SavedJournal = JSON.parse(JSON.stringify(journal));
  return playWatched(rounds(iterations), { ...before, ...after, runId: "r", journal: memoryJournal(saved) });
}

const live = ({ recording }: Watched): readonly unknown[] =>
  recording
    .of("cache-break")
    .filter(({ replayed }) => replayed !== true)
    .map(({ iteration, cause }) => [iteration, cause]);

describe("watchPromptCache with a resumed run", () => {
  it("does not report a cache break if nothing has changed", async () => {
    const watched = await resume({ middleware: [contextRestarts({ items: ["It is noon."] })] }, {});
    expect([live(watched), watched.result.cache?.requests, watched.result.cache?.share]).toEqual([[], 5, 1]);
  });

  it.for<[what: string, before: Partial<LoopOptions>, after: Partial<LoopOptions>, cause: object]>([
    ["a different system prompt", {}, { system: "Be long." }, { kind: "system-changed" }],
    ["a new tool", {}, { tools: [look, other("other")] }, { kind: "tool-added", name: "other" }],
    ["a removed tool", { tools: [other("other"), look] }, { tools: [look] }, { kind: "tool-removed", name: "other" }],
    [
      "a changed tool",
      { tools: [other("other"), look] },
      { tools: [other("other", "New"), look] },
      { kind: "tool-changed", name: "other" },
    ],
    [
      "tools in a different order",
      { tools: [other("other"), look] },
      { tools: [look, other("other")] },
      { kind: "tools-reordered" },
    ],
    [
      "a different model",
      {},
      { provider: createMockProvider(rounds(5), { model: "new" }) },
      { kind: "model-changed", values: ["mock-model", "new"] },
    ],
  ])("reports %s", async ([, before, after, cause]) => {
    const watched = await resume(before, after);
    expect(live(watched)).toEqual([[3, cause]]);
    const [, , third, fourth] = watched.result.streamResults.flatMap(({ cache }) => cache?.requests ?? []);
    expect(fourth?.prefixBytes).toBe(third?.bytes);
    expect((fourth?.break?.keptBytes ?? 0) + (fourth?.break?.lostBytes ?? 0)).toBe(third?.bytes);
  });

  it("counts all bytes from the beginning of an edited message as lost", async () => {
    const provider = createMockProvider(rounds(5));
    const edited = {
      ...provider,
      stream: ((request, call) =>
        provider.stream(
          { ...request, messages: [{ role: "user", content: "Look." }, ...request.messages.slice(1)] },
          call,
        )) satisfies typeof provider.stream,
    };
    const watched = await resume({}, { provider: edited });
    expect(live(watched)).toEqual([[3, { kind: "messages-edited", count: 1 }]]);
    const [head] = watched.result.streamResults.flatMap(({ cache }) => cache?.requests ?? []);
    expect(watched.result.cache?.breaks[0]?.keptBytes).toBe((head?.bytes ?? 0) - Buffer.byteLength(JSON.stringify(messages[0])));
  });

  it("reports masked results as an intended change", async () => {
    const masking = maskResults({ keepIterations: 1, minTokens: 0, batchOf: 3 });
    const watched = await resume({ middleware: [masking] }, {}, 8);
    expect(watched.recording.of("masked").map(({ iteration, replayed }) => [iteration, replayed])).toEqual([
      [4, undefined],
      [7, undefined],
    ]);
    expect(
      watched.recording.of("cache-break").map(({ iteration, cause, isIntended }) => [iteration, cause.kind, isIntended]),
    ).toEqual([
      [4, "messages-masked", true],
      [7, "messages-masked", true],
    ]);
    const first = await resume({ middleware: [maskResults({ keepIterations: 2, minTokens: 0, batchOf: 1 })] }, {});
    expect(first.recording.of("cache-break").map(({ iteration, isIntended }) => [iteration, isIntended])).toEqual([
      [3, true],
      [4, true],
    ]);
  });
});

it("watchPromptCache: the record of a request has the same size for a run of any length", async () => {
  const { result } = await playWatched(rounds(200));
  const sizes = result.streamResults.map(({ cache }) => JSON.stringify(cache).length);
  expect(Math.max(...sizes.slice(1))).toBeLessThan(300);
});

/** Plays a run of three iterations. Returns its journal, in which the first record of a model step is edited. */
async function edited(edit: (cache: { requests: unknown }) => unknown): Promise<SavedJournal> {
  const journal = memoryJournal();
  await playWatched(rounds(4), { runId: "r", journal, limits: { maxIterations: 3 } });
  const { steps } = JSON.parse(JSON.stringify(journal)) as { steps: { [key: string]: { value?: unknown } } };
  for (const [key, record] of Object.entries(steps))
    if (key.endsWith("/@prompt-cache/cache")) record.value = edit(record.value as { requests: unknown });
  return { steps } as SavedJournal;
}

it.for<[what: string, cache: (cache: { requests: unknown }) => unknown]>([
  ["that is not an object", () => 5],
  ["without requests", () => ({})],
  ["with requests that are not objects", () => ({ requests: [1] })],
  ["with a cache break that is not an object", () => ({ requests: [{ break: "all" }] })],
])('watchPromptCache: throws "journal-damaged" for recorded cache data %s', async ([, edit]) => {
  const journal = memoryJournal(await edited(edit));
  await expect(playWatched(rounds(4), { runId: "r", journal })).rejects.toMatchObject({ code: "journal-damaged" });
});

it.for<[what: string, fields: object]>([
  ["parts that are not arrays", { tools: 5, messages: 5 }],
  ["a message at index one billion", { messages: [[1_000_000_000, "x", 1]], messageCount: 1_000_000_001 }],
  ["a negative index", { messages: [[-1, "x", 1]] }],
])("watchPromptCache: resumes a run from a record with %s", async ([, fields]) => {
  const journal = memoryJournal(
    await edited(({ requests }) => ({ requests: (requests as object[]).map((each) => ({ ...each, ...fields })) })),
  );
  const { result } = await playWatched(rounds(4), { runId: "r", journal });
  expect([result.text, result.cache?.requests]).toEqual(["Done.", 4]);
});
