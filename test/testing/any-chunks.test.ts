import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, expect, it } from "vitest";
import { type ModelChunk, type Provider, type ProviderError, providerError } from "turnwright";
import { memoryCassette, recordTo, replayFrom } from "turnwright/testing";
import { says } from "./cassette-kit.ts";
import { play } from "./play.ts";

const folder = mkdtempSync(join(tmpdir(), "cassettes-"));
afterAll(() => rmSync(folder, { recursive: true }));

const json = fc.jsonValue({ maxDepth: 3 });
const words = fc.string({ unit: "binary" });
const error: fc.Arbitrary<ProviderError> = words.map((message) => providerError("overloaded", message));
const chunks: fc.Arbitrary<unknown> = fc.oneof(
  fc.record({ type: fc.constantFrom("text-delta", "reasoning-delta", "refusal-delta", "details"), text: words }),
  fc.record({ type: fc.constant("call-start"), key: words, name: words }),
  fc.record({ type: fc.constant("call-args-delta"), key: words, text: words }),
  fc.record({ type: fc.constant("call-ready"), key: words, id: words, name: words, args: json, argsText: words }),
  fc.record({
    type: fc.constant("usage"),
    mode: fc.constantFrom("snapshot", "delta"),
    usage: fc.record({ inputTokens: fc.nat(), outputTokens: fc.nat(), totalTokens: fc.nat() }),
  }),
  fc.record({ type: fc.constant("provider-metadata"), item: json }),
  fc.record({ type: fc.constant("thought-log"), payload: json }),
  fc.record({ type: fc.constant("attempt-start"), attempt: fc.nat(), provider: words, model: words }),
  fc.record({ type: fc.constant("attempt-discarded"), attempt: fc.nat(), error }),
  fc.record({ type: fc.constant("finish"), reason: fc.constantFrom("stop", "continue"), token: words }),
  fc.record({ type: fc.constant("error"), error }),
);

it("replayFrom: replays random chunks as recorded, from memory and from a file", async () => {
  const file = join(folder, "any-chunks.jsonl");
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(chunks, { maxLength: 6 }), { maxLength: 4 }), fc.boolean(), async (streams, onDisk) => {
      const given = JSON.parse(JSON.stringify(streams)) as ModelChunk[][];
      const target = onDisk ? file : memoryCassette();
      let count = 0;
      const source: Provider = { id: "p", model: "m", stream: (...args) => says(...(given[count++] ?? [])).stream(...args) };
      const recorder = recordTo(target, source);
      for (const expected of given) expect(await play(recorder)).toEqual(expected);
      const player = replayFrom(target);
      for (const expected of given) expect(await play(player)).toEqual(expected);
    }),
    { numRuns: 200 },
  );
});

it("recordTo: redacts credentials in an error chunk", async () => {
  const cassette = memoryCassette();
  const error = { name: "ProviderError", code: "auth", retryable: false, message: "Bad key sk-abc123def456." } as const;
  const told = await play(recordTo(cassette, says({ type: "error", error })));
  expect(told).toEqual([{ type: "error", error: { ...error, message: "Bad key [redacted]." } }]);
  expect(cassette.read()).not.toContain("abc123");
});
