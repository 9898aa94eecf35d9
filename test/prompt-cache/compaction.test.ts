import { maskResults } from "turnwright";
import { compactMessages } from "turnwright/middleware";
import { createMockProvider, expectPrefix, text } from "turnwright/testing";
import { expect, it } from "vitest";
import { playWatched, rounds } from "./play-watched.ts";

it("watchPromptCache: 100 iterations with masking and compaction keep at least 95% of the possible cache prefix", async () => {
  const summarize = { provider: createMockProvider((_, index) => text(`Summary ${index} of what was seen.`), { id: "small" }) };
  const compaction = compactMessages({ when: 3_000, keep: 1_000, summarize });
  const masking = maskResults({ keepIterations: 2, minTokens: 0, batchOf: 10 });
  const { result, recording } = await playWatched(rounds(100), { middleware: [masking, compaction] });
  const kinds = recording.of("cache-break").map(({ cause }) => cause.kind);
  expect(result.cache?.requests).toBe(100);
  expect(result.compaction?.count).toBeGreaterThan(0);
  expect(new Set(kinds)).toEqual(new Set(["messages-masked", "messages-compacted"]));
  expect(recording.of("cache-break").every(({ isIntended }) => isIntended)).toBe(true);
  expectPrefix(result, 0.95);
});
