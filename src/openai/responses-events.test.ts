import { describe, expect, it } from "vitest";
import { createResponsesReader } from "./responses-events.ts";
import {
  added,
  brief,
  call,
  completed,
  done,
  incomplete,
  message,
  metadataOf,
  piece,
  read,
} from "../../test/wire/responses-events.ts";

describe("openaiResponses at the end of the stream", () => {
  it.for<[what: string, events: readonly unknown[], said: readonly string[]]>([
    ["yields no finish if the last event is missing", [piece(0, "m", "Hel")], ['text "Hel"']],
    [
      "yields an error if the response failed",
      [
        piece(0, "m", "Hel"),
        done(1, call("c", "1", "{}")),
        {
          type: "response.failed",
          response: {
            status: "failed",
            error: { code: "server_error", message: "It broke." },
            usage: { input_tokens: 1, output_tokens: 2 },
          },
        },
      ],
      ['text "Hel"', "start item-1 1 f", "args item-1 {}", "usage", "error server It broke."],
    ],
    [
      "yields an error if an error event arrives",
      [piece(0, "m", "Hel"), { type: "error", code: "rate_limit_exceeded", message: "Slow." }, completed()],
      ['text "Hel"', "error rate-limit Slow."],
    ],
    [
      "yields an error if the response is canceled",
      [piece(0, "m", "Hel"), { type: "response.cancelled", response: { status: "cancelled" } }],
      ['text "Hel"', "error server The response was cancelled."],
    ],
    [
      "ignores all events after response.completed",
      [completed(), piece(0, "m", "Hel"), { type: "error", message: "x" }, completed()],
      ["finish stop completed"],
    ],
    [
      "yields a finish even if response.completed has no response object",
      [{ type: "response.completed" }],
      ["finish stop completed"],
    ],
    [
      'yields the finish reason "length" if the response is cut off by max_output_tokens',
      [piece(0, "m", "Hel"), incomplete("max_output_tokens")],
      ['text "Hel"', "finish length max_output_tokens"],
    ],
  ])("%s", ([, events, said]) => {
    expect(brief(read(events))).toEqual(said);
  });

  it("yields the token counts of the response", () => {
    const usage = {
      input_tokens: 10,
      input_tokens_details: { cached_tokens: 4, cache_write_tokens: 3 },
      output_tokens: 5,
      output_tokens_details: { reasoning_tokens: 2 },
      total_tokens: 15,
    };
    expect(read([{ type: "response.completed", response: { status: "completed", usage } }])).toContainEqual({
      type: "usage",
      mode: "snapshot",
      usage: { inputTokens: 10, outputTokens: 5, totalTokens: 15, cachedInputTokens: 4, cacheWriteTokens: 3, reasoningTokens: 2 },
    });
  });

  it("marks the reader as finished when response.completed arrives", () => {
    const reader = createResponsesReader([], false);
    reader.read(piece(0, "m", "Hel"));
    expect(reader.finished).toBe(false);
    reader.read(completed());
    expect([reader.finished, reader.failed]).toEqual([true, false]);
  });
});

describe("openaiResponses: provider metadata of a stream", () => {
  const reasoning = { type: "reasoning", id: "r", summary: [], encrypted_content: "begun" };
  const finished = { ...reasoning, encrypted_content: "finished" };

  it("keeps each finished item unchanged, in the order of the response", () => {
    const [first, second] = [message("a", "A", { phase: "commentary" }), call("c", "1", "{}")];
    const search = { type: "web_search_call", id: "w", status: "completed", action: { type: "search", query: "q" } };
    const events = [
      added(0, reasoning),
      done(2, search),
      done(0, finished),
      done(3, second),
      done(1, first),
      completed({ ...reasoning, encrypted_content: "later" }),
    ];
    expect(metadataOf(read(events))).toEqual([finished, first, search, second].map((item) => ({ output_item: item })));
  });

  it("appends items that are only in response.completed", () => {
    expect(metadataOf(read([done(0, finished), completed(finished, message("m", "Hello"))]))).toEqual([
      { output_item: finished },
      { output_item: message("m", "Hello") },
    ]);
  });

  it.for<[what: string, events: readonly unknown[]]>([
    ["was cut off", [done(0, finished), incomplete("max_output_tokens")]],
    ["failed", [done(0, finished), { type: "response.failed", response: {} }]],
    ["has no last event", [done(0, finished)]],
  ])("keeps no metadata from a response that %s", ([, events]) => {
    expect(metadataOf(read(events))).toEqual([]);
  });

  it.for<[verb: "marks" | "does not mark", asked: boolean, said: unknown]>([
    ["does not mark", false, undefined],
    ["marks", true, undefined],
    ["does not mark", true, false],
    ["marks", false, true],
  ])("%s items as stored if the `store` option is %s and the response's `store` field is %s", ([verb, store, said]) => {
    const stored = verb === "marks";
    const end = { type: "response.completed", response: { store: said } };
    expect(metadataOf(read([done(0, finished), end], { store }))).toEqual([
      { output_item: finished, ...(stored ? { stored } : {}) },
    ]);
  });

  it("keeps a key named __proto__ as data", () => {
    const item = JSON.parse('{"type":"novelty","__proto__":{"polluted":true}}');
    expect(JSON.stringify(metadataOf(read([done(0, item), completed()])))).toBe(
      '[{"output_item":{"type":"novelty","__proto__":{"polluted":true}}}]',
    );
    expect(Reflect.get({}, "polluted")).toBeUndefined();
  });
});
