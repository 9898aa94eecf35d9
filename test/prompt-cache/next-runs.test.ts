// The first request of a run is compared with the last request of the previous run.

import { describe, expect, it } from "vitest";
import {
  defineTool,
  type LoopOptions,
  maskResults,
  memoryJournal,
  type Message,
  runToolLoop,
  type SavedJournal,
  type Tool,
} from "turnwright";
import { compactMessages, watchPromptCache } from "turnwright/middleware";
import { createConversation, memoryConversationStore } from "turnwright/conversation";
import type { RunOverrides } from "../../src/conversation/conversation.ts";
import { createMockProvider, expectPrefix, recordEvents, text } from "turnwright/testing";
import { look, playWatched, rounds } from "./play-watched.ts";

const other: Tool = defineTool({ name: "other", description: "Other", inputSchema: { type: "object" }, execute: () => "ok" });
const answering = (model?: string) => createMockProvider(() => [text("Yes.")], { record: false, model });

interface Chat {
  send(message: string, own?: RunOverrides): Promise<readonly unknown[]>;
}

/** `send` returns the cache breaks that the run has reported. */
function openChat(options: RunOverrides = {}): Chat {
  const { emitter, of } = recordEvents(undefined, ["cache-break"]);
  let seen = 0;
  const base = { provider: answering(), tools: [look], system: "Be brief.", events: emitter };
  const chat = createConversation({
    id: "a",
    store: memoryConversationStore(),
    options: { ...base, ...options, middleware: [...(options.middleware ?? []), watchPromptCache()] },
  });
  return {
    send: async (message, own) => {
      await chat.send(message, own);
      const breaks = of("cache-break").slice(seen);
      seen += breaks.length;
      return breaks.map(({ iteration, cause, isIntended }) => [iteration, cause, isIntended]);
    },
  };
}

describe("createConversation with watchPromptCache", () => {
  it("does not report a cache break if the next message only adds to the conversation", async () => {
    const chat = openChat();
    for (let index = 0; index < 40; index += 1) expect(await chat.send(`Question ${index}`)).toEqual([]);
  });

  it.for<[what: string, own: RunOverrides, cause: object]>([
    ["a changed system prompt", { system: "Be long." }, { kind: "system-changed" }],
    ["an added tool", { tools: [look, other] }, { kind: "tool-added", name: "other" }],
    ["a removed tool", { tools: [] }, { kind: "tool-removed", name: "look" }],
    ["a changed model", { provider: answering("new") }, { kind: "model-changed", values: ["mock-model", "new"] }],
  ])("reports %s at the second message", async ([, own, cause]) => {
    const chat = openChat();
    await chat.send("One");
    expect(await chat.send("Two", own)).toEqual([[0, cause, false]]);
  });

  it("reports a summary at the start of a run as an intended change", async () => {
    const chat = openChat();
    for (let index = 0; index < 12; index += 1) await chat.send(`Question ${index} ${"x".repeat(400)}`);
    const compaction = compactMessages({ when: 500, keep: 200 });
    expect(await chat.send("And now?", { middleware: [compaction, watchPromptCache()] })).toEqual([
      [0, { kind: "messages-compacted" }, true],
    ]);
    expect(
      await chat.send("And then?", { middleware: [compactMessages({ when: 50_000, keep: 200 }), watchPromptCache()] }),
    ).toEqual([]);
  });

  it("reports a cache break if the next run sends masked results in full again", async () => {
    const masking = maskResults({ keepIterations: 1, minTokens: 0, batchOf: 1 });
    const chat = openChat({ middleware: [masking], provider: createMockProvider(rounds(5), { record: false }) });
    await chat.send("Look around.");
    const [first] = await chat.send("Thanks.", { provider: answering() });
    expect(first).toEqual([0, expect.objectContaining({ kind: "messages-edited" }), false]);
  });
});

const messages: readonly Message[] = [{ role: "user", content: "Look around." }];

describe("watchPromptCache().startWith", () => {
  it("counts the earlier run's whole last request as the prefix of the first request", async () => {
    const { result } = await playWatched(rounds(6));
    const next = await playWatched(rounds(1), {
      messages: [...result.messages, { role: "user", content: "And?" }],
      middleware: [watchPromptCache().startWith(result.cache?.last)],
    });
    expect(next.result.cache).toMatchObject({ requests: 1, share: 1, prefixBytes: result.cache?.last?.bytes, breaks: [] });
    expectPrefix(next.result, 1);
  });

  it("accepts the last request as saved JSON", async () => {
    const { result } = await playWatched(rounds(3));
    const last = JSON.parse(JSON.stringify(result.cache?.last));
    const journal = memoryJournal();
    const options: Partial<LoopOptions> = {
      runId: "r",
      system: "New.",
      middleware: [watchPromptCache().startWith(last)],
    };
    const first = await playWatched(rounds(4), { ...options, journal });
    const saved: SavedJournal = JSON.parse(JSON.stringify(journal));
    const replayed = await playWatched([], { ...options, journal: memoryJournal(saved) });
    expect(replayed.result.cache).toEqual(first.result.cache);
    expect(first.result.cache?.breaks.map(({ iteration, cause }) => [iteration, cause.kind])).toEqual([[0, "system-changed"]]);
  });

  it("needs only a small record of the last request, even after a long conversation", async () => {
    const { result } = await playWatched(rounds(400));
    expect(JSON.stringify(result.cache?.last).length).toBeLessThan(2_000);
  });

  it("returns the last request of the earlier run if the new run made no request", async () => {
    const { result } = await playWatched(rounds(1));
    const silent = await runToolLoop({
      provider: {
        ...answering(),
        stream: async function* () {
          yield* [];
        },
      },
      messages,
      middleware: [watchPromptCache().startWith(result.cache?.last)],
    });
    expect(silent.cache?.last).toEqual(result.cache?.last);
  });

  it.for([
    null,
    5,
    {},
    { provider: "p" },
    { provider: "p", model: "m", bytes: 1, tools: [1], system: [], settings: {}, messages: [] },
  ])('throws "invalid-option" for %j', (given) => {
    expect(() => watchPromptCache().startWith(given as never)).toThrow(expect.objectContaining({ code: "invalid-option" }));
  });
});

it("expectPrefix: throws if there were no requests to compare", async () => {
  const { result } = await playWatched(rounds(1));
  expect(() => expectPrefix(result, 0)).toThrow("The run made one request, so there is no prefix to compare.");
});
