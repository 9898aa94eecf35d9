import fc from "fast-check";
import { expect, it } from "vitest";
import { measureShared } from "./measure-bodies.ts";
import { playReported } from "./play-watched.ts";

const word = fc.constantFrom("a", "ab", 'say "x"', "süß", "🌦", "🌧", "\n", "{}", "");
const block = fc.record({ type: fc.constant("text"), text: word }, { requiredKeys: ["type", "text"] });
const message = fc.record({
  role: fc.constantFrom("user", "assistant"),
  content: fc.oneof(word, fc.array(block, { maxLength: 3 })),
});
const tool = fc.record({ name: fc.constantFrom("f", "g", "h"), description: word });
const body = fc.record({
  tools: fc.uniqueArray(tool, { maxLength: 3, selector: ({ name }) => name }),
  system: word,
  messages: fc.array(message, { minLength: 1, maxLength: 5 }),
});

const reversed = <Fields extends object>(fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).reverse()) as Fields;

/**
 * Two bodies that differ in few places, or the second body only has more messages, or the same tools and messages have their keys in
 * another order.
 */
const pair = fc
  .tuple(
    body,
    body,
    fc.subarray(["tools", "system", "messages"] as const),
    fc.array(message, { maxLength: 2 }),
    fc.subarray(["tools", "messages"] as const, { maxLength: 1 }),
  )
  .map(([before, other, changed, added, reordered]) => {
    const next = { ...before, ...Object.fromEntries(changed.map((part) => [part, other[part]])) };
    const tools = reordered[0] === "tools" ? next.tools.map(reversed) : next.tools;
    const messages = reordered[0] === "messages" ? next.messages.map(reversed) : next.messages;
    return [before, { ...next, tools, messages: [...messages, ...added] }] as const;
  });

it("watchPromptCache: counts the same shared bytes for random bodies as for their JSON strings", async () => {
  await fc.assert(
    fc.asyncProperty(pair, async ([before, next]) => {
      const { result, recording } = await playReported([before, next]);
      const [, request] = result.streamResults.flatMap(({ cache }) => cache?.requests ?? []);
      const { bytes, shared } = measureShared(before, next);
      expect([request?.prefixBytes, request?.sharedBytes]).toEqual([bytes, shared]);
      expect(request?.possibleBytes).toBeGreaterThanOrEqual(shared);
      const [found] = recording.of("cache-break");
      expect([found?.keptBytes, found?.lostBytes]).toEqual(
        found === undefined ? [undefined, undefined] : [shared, bytes - shared],
      );
      // If there was no event, the last message may only have become longer.
      if (found === undefined) expect(bytes - shared).toBeLessThanOrEqual('"}]}'.length);
    }),
    { numRuns: 120 },
  );
});
