import { describe, expect, it } from "vitest";
import {
  contextRestart,
  FatalToolError,
  memoryJournal,
  processResults,
  type ResultPipeline,
  type Middleware,
  toolResult,
  truncateResults,
} from "turnwright";
import { text, toolCall } from "turnwright/testing";
import { answersOf, play, tool } from "../play.ts";
import { changesOf, readingsOf, start, texts } from "./result-stage.ts";

describe("processResults", () => {
  it("runs the stages in order, passing each stage the previous stage's output", async () => {
    const seen: unknown[] = [];
    const playing = start(texts(20_000), {
      processor: (toolName, output) => (seen.push(["processor", toolName, output.length]), output.slice(0, 64_000)),
      extractor: { extract: (output, facts) => (seen.push(["extractor", output.length, facts]), texts(3_000)) },
      cacher: { store: (output, facts) => (seen.push(["cacher", output.length, facts]), "It is put aside.") },
    });
    expect(await readingsOf(playing)).toEqual(["It is put aside."]);
    expect(seen).toEqual([
      ["processor", "give", 80_000],
      ["extractor", 64_000, { toolName: "give", userText: "Go." }],
      ["cacher", 12_000, { toolName: "give" }],
    ]);
    expect(changesOf(playing)).toEqual([
      "result-processed 20000 -> 16000",
      "result-extracted 16000 -> 3000",
      "result-cached 3000 -> 4",
    ]);
  });

  it.for<[title: string, tokens: number, own: { extractor?: number; cacher?: number }, asked: readonly string[]]>([
    ["passes a result of 2,000 tokens to no stage by default", 2_000, {}, []],
    ["passes a result of 2,001 tokens to the cacher by default", 2_001, {}, ["cacher"]],
    ["passes a result of 15,000 tokens only to the cacher by default", 15_000, {}, ["cacher"]],
    ["passes a result of 15,001 tokens to the extractor and the cacher by default", 15_001, {}, ["extractor", "cacher"]],
    ["passes a result at both thresholds to no stage", 10, { extractor: 10, cacher: 10 }, []],
    ["passes a result above both thresholds to both stages", 11, { extractor: 10, cacher: 10 }, ["extractor", "cacher"]],
    ["passes every result to both stages with thresholds of 0", 1, { extractor: 0, cacher: 0 }, ["extractor", "cacher"]],
    [
      "passes no result to a stage with infinite thresholds",
      16_000,
      { extractor: Number.POSITIVE_INFINITY, cacher: Number.POSITIVE_INFINITY },
      [],
    ],
  ])("%s", async ([, tokens, own, asked]) => {
    const seen: string[] = [];
    const playing = start(texts(tokens), {
      extractor: { threshold: own.extractor, extract: (output) => (seen.push("extractor"), output) },
      cacher: { threshold: own.cacher, store: (output) => (seen.push("cacher"), output) },
    });
    expect([await readingsOf(playing), seen, changesOf(playing)]).toEqual([[texts(tokens)], asked, []]);
  });

  it("awaits an async stage", async () => {
    const playing = start("x", { processor: async () => "later" });
    expect(await readingsOf(playing)).toEqual(["later"]);
  });

  it.for<[what: string, output: unknown, seen: string]>([
    ["a string", "as it is", "as it is"],
    ["an object", { a: [1, null] }, '{"a":[1,null]}'],
    ["undefined", undefined, "null"],
    ["a number", 7, "7"],
  ])("passes %s to the stages as text, but returns the original value if no stage changes the text", async ([, output, seen]) => {
    let read = "";
    const playing = start(output, { processor: (_, given) => void (read = given) });
    const [reading] = await readingsOf(playing);
    expect([read, reading]).toEqual([seen, output ?? null]);
    expect(changesOf(playing)).toEqual([]);
  });

  it("leaves images next to a result unchanged", async () => {
    const content = [{ type: "image" as const, mediaType: "image/png", data: "aGk=" }];
    const playing = start(toolResult({ data: "long", content }), { processor: () => "short" });
    expect(answersOf(await playing.result)).toMatchObject([{ result: "short", content }]);
  });

  it("replaces a result and the text parts next to it with a single string", async () => {
    const image = { type: "image" as const, mediaType: "image/png", data: "aGk=" };
    const content = [{ type: "text" as const, text: texts(500) }, image, { type: "text" as const, text: "end" }];
    const output = toolResult({ data: { ok: true }, content });
    const seen: string[] = [];
    const playing = start(output, {
      processor: (name, given) => (seen.push(given), truncateResults({ maxBytes: 200 }).processor(name, given)),
    });
    const [answer] = answersOf(await playing.result);
    expect(seen).toEqual([`{"ok":true}\n${texts(500)}\nend`]);
    expect(JSON.stringify(answer?.result).length).toBeLessThan(250);
    expect(answer?.content).toEqual([image]);

    const unchanged = start(output, { processor: () => undefined });
    expect(answersOf(await unchanged.result)).toMatchObject([{ result: { ok: true }, content }]);
    const journal = memoryJournal(JSON.parse(JSON.stringify((await playing.result).journal)));
    expect((await play([], { ...playing.options, journal }).result).messages).toEqual((await playing.result).messages);
  });

  it("passes the last user message's text to the extractor", async () => {
    const seen: string[] = [];
    const extractor: ResultPipeline["extractor"] = {
      threshold: 0,
      extract: (output, { userText }) => (seen.push(userText), output),
    };
    const image = { type: "image" as const, mediaType: "image/png", data: "aGk=" };
    const content = [{ type: "text" as const, text: "What is" }, image, { type: "text" as const, text: "this?" }];
    const messages = [
      { role: "user" as const, content: "Hello." },
      { role: "user" as const, content },
    ];
    await start("x", { extractor }, { messages }).result;
    await start("x", { extractor }, { messages: [{ role: "user", content: [image] }] }).result;
    expect(seen).toEqual(["What is\nthis?", ""]);
  });

  it("processes each call when it ends, in a separate step", async () => {
    const seen: string[] = [];
    const processor = async (_: string, output: string): Promise<string> => {
      seen.push(`begin ${output}`);
      await Promise.resolve();
      seen.push(`end ${output}`);
      return `${output}!`;
    };
    const later = tool("later", () => Promise.resolve().then(() => "a"));
    const playing = play([[toolCall("later"), toolCall("now")], text("Done.")], {
      tools: [later, tool("now", () => "b")],
      middleware: [processResults({ processor })],
    });
    expect(await readingsOf(playing)).toEqual(["a!", "b!"]);
    expect(seen).toEqual(["begin b", "end b", "begin a", "end a"]);
    const keys = memoryJournal(JSON.parse(JSON.stringify((await playing.result).journal))).keys();
    expect(keys.filter((key) => key.includes("results"))).toEqual([
      "i0/call/1/now/@process-results/results",
      "i0/call/0/later/@process-results/results",
    ]);
  });
});

describe("results from processResults", () => {
  it("appear in the request, transcript and history, but not in the tool-end event", async () => {
    const playing = start({ rows: [1, 2, 3] }, { processor: () => "3 rows" });
    const result = await playing.result;
    expect(playing.provider.requests[1]?.messages.at(-1)).toMatchObject({ results: [{ result: "3 rows" }] });
    expect(answersOf(result)).toMatchObject([{ outcome: "completed", result: "3 rows" }]);
    expect(result.functionHistory).toMatchObject([{ functionResponse: { response: { result: "3 rows" } } }]);
    expect(playing.recording.of("tool-end")).toMatchObject([{ result: { rows: [1, 2, 3] } }]);
  });
});

it.for<[what: string, give: () => unknown]>([
  ["from a failed call", () => toolResult({ success: false, error: "No." })],
  [
    "from a tool that throws",
    () => {
      throw new Error("No.");
    },
  ],
  ["from a restart", () => contextRestart({ type: "context_restart_x" })],
  [
    "from a FatalToolError",
    () => {
      throw new FatalToolError("Gone.");
    },
  ],
])("processResults does not process a result %s, and records no step", async ([, give]) => {
  const asked: string[] = [];
  const processor = (_: string, output: string): string => (asked.push(output), "changed");
  const playing = play([[toolCall("give"), toolCall("nope")], text("Done.")], {
    tools: [tool("give", give)],
    middleware: [processResults({ processor })],
  });
  const { journal } = await playing.result;
  expect([asked, JSON.stringify(journal).includes("@process-results/")]).toEqual([[], false]);
});

it.for<[use: string, results: Middleware]>([
  ["middleware", truncateResults({ maxTokens: 100 })],
  ["a processor", processResults({ processor: truncateResults({ maxTokens: 100 }).processor })],
])("truncateResults can be used as %s", async ([, results]) => {
  const tools = [tool("give", () => texts(1_000))];
  const playing = play([toolCall("give"), text("Done.")], { tools, middleware: [results] });
  expect(await readingsOf(playing)).toEqual([expect.stringContaining("bytes left out here")]);
  expect(changesOf(playing)).toEqual(["result-processed 1000 -> 100"]);
});

it.for<[option: string, results: unknown, code: string]>([
  ["processResults", 7, "invalid-option"],
  ["processResults.processor", { processor: "x" }, "invalid-option"],
  ["processResults.extractors", { extractors: {} }, "unknown-option"],
  ["processResults.extractor", { extractor: () => "x" }, "invalid-option"],
  ["processResults.extractor.extract", { extractor: {} }, "invalid-option"],
  ["processResults.extractor.threshold", { extractor: { extract: String, threshold: -1 } }, "invalid-option"],
  ["processResults.extractor.treshold", { extractor: { extract: String, treshold: 1 } }, "unknown-option"],
  ["processResults.cacher.store", { cacher: { threshold: 3 } }, "invalid-option"],
  ["processResults.cacher.threshold", { cacher: { store: String, threshold: 1.5 } }, "invalid-option"],
])("runToolLoop rejects an invalid %s", ([option, results, code]) => {
  const make = (): unknown => processResults(results as ResultPipeline);
  expect(make).toThrow(expect.objectContaining({ code, details: expect.objectContaining({ option }) as unknown }));
});

it("processResults keeps `this` in stages that are class instances", async () => {
  class Shelf {
    readonly threshold = 0;
    readonly #kept: string[] = [];
    readonly name = "shelf";

    store(output: string): string {
      this.#kept.push(output);
      return `${this.name} ${this.#kept.length}`;
    }
  }
  expect(await readingsOf(start("x", { cacher: new Shelf() }))).toEqual(["shelf 1"]);
});
