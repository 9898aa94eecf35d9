// Random transcripts and helpers for the tests of message formats.

import fc from "fast-check";
import { expect } from "vitest";
import { type AssistantMessage, isLoopError, type Message, type ToolResultPart, type UserMessage } from "turnwright";

export const texts: fc.Arbitrary<string> = fc.constantFrom("Hi", "Look.", "a\n\nb", '{"a":1}', " x", "__proto__");
export const png = "iVBORw0KGgo=";

const users: fc.Arbitrary<UserMessage> = fc.record(
  {
    role: fc.constant("user" as const),
    content: fc.oneof(
      texts,
      fc.array(
        fc.oneof(
          texts.map((text) => ({ type: "text" as const, text })),
          fc.constantFrom(
            { type: "image" as const, mediaType: "image/png", data: png },
            { type: "image" as const, mediaType: "image/*", data: "https://example.org/a.png" },
            { type: "file" as const, mediaType: "application/pdf", data: "JVBERg==" },
            { type: "file" as const, mediaType: "video/mp4", data: "AAAA" },
          ),
        ),
        { minLength: 1, maxLength: 3 },
      ),
    ),
    pinned: fc.constant(true),
  },
  { requiredKeys: ["role", "content"] },
);

const values = fc.constantFrom("ok", "", { n: 1 }, [1, "b"], null);

const answers = fc.record({
  parts: fc.subarray(["reasoning", "text", "text"] as const),
  text: texts,
  args: fc.array(fc.constantFrom({}, { a: 1 }, JSON.parse('{"__proto__":1}') as object, "broken"), { maxLength: 2 }),
  results: fc.tuple(values, values),
  outcome: fc.constantFrom("completed" as const, "completed" as const, "failed" as const, "denied" as const),
});

export const transcripts: fc.Arbitrary<readonly Message[]> = fc
  .array(fc.oneof(users, answers), { minLength: 1, maxLength: 5 })
  .map((units) => units.flatMap((unit, index) => ("role" in unit ? [unit] : toMessages(unit, index))));

type Answer = typeof answers extends fc.Arbitrary<infer Value> ? Value : never;

function toMessages({ parts, text, args, results, outcome }: Answer, index: number): readonly Message[] {
  const calls = args.map((value, at) => ({
    type: "tool-call" as const,
    callId: `c${index}-${at}`,
    name: "look",
    args: value as never,
  }));
  const content: AssistantMessage["content"] = [...parts.map((type) => ({ type, text })), ...calls];
  const message: AssistantMessage = { role: "assistant", content };
  const answered = calls.map(({ callId, name }, at): ToolResultPart => ({
    callId,
    name,
    outcome,
    result: (results[at] ?? null) as never,
  }));
  if (content.length === 0) return [];
  return calls.length === 0 ? [message] : [message, { role: "tool", results: answered }];
}

/** Removes differences that have no meaning: a string means the same as one text part. */
export function toForm(messages: readonly Message[]): readonly unknown[] {
  return messages.map((message) =>
    message.role === "user" && typeof message.content === "string"
      ? { ...message, content: [{ type: "text", text: message.content }] }
      : (JSON.parse(JSON.stringify(message), readData) as unknown),
  );
}

/** An image may be a base64 string or a data URL. */
function readData(this: { readonly mediaType?: string }, key: string, value: unknown): unknown {
  return key === "data" && typeof value === "string" ? value.replace(/^data:[^,]*,/, "") : value;
}

/** Converts random JSON with these keys and words, as in a history from a file or a page. Every error must be a LoopError. */
export function convertForged(keys: readonly string[], words: readonly string[], convert: (history: never) => unknown): void {
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom(...words),
      fc.constant(null),
      fc.array(tie("tree"), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom(...keys), tie("tree"), { maxKeys: 4 }),
    ),
  }));
  fc.assert(
    fc.property(fc.array(tree, { maxLength: 3 }), (history) => {
      try {
        convert(history as never);
      } catch (error) {
        expect(isLoopError(error)).toBe(true);
      }
    }),
    { numRuns: 100, seed: 5 },
  );
}
