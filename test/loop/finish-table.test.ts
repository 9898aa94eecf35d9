import { describe, expect, it } from "vitest";
import type { FinishReason, LoopResult, ModelRequest } from "turnwright";
import { endEarly, finish, type MockPart, text, toolCall } from "turnwright/testing";
import { answersOf, play, tool, type Playing } from "./play.ts";

type Ends = FinishReason | "nothing";

const endOf = (how: Ends): MockPart => (how === "nothing" ? endEarly() : finish(how));
const calls = [toolCall("note", { n: 1 }), toolCall("note", { n: 2 })];
const note = tool("note", (args) => args);

function summaryOf(result: LoopResult, { provider }: Playing): string {
  const { status, reason } = result;
  const code = reason.kind === "provider-error" ? reason.error.code : reason.kind;
  const outcomes = [...new Set(answersOf(result).map((part) => part.outcome))];
  return [...outcomes, `${status} ${code}`, provider.calls].join(", ");
}

function lastOf(request: ModelRequest | undefined): string {
  const last = request?.messages.at(-1);
  return last?.role === "user" ? `user: ${JSON.stringify(last.content)}` : (last?.role ?? "");
}

describe("the finish reason", () => {
  it.for<[how: Ends, withText: string, withNothing: string, withCalls: string]>([
    ["stop", "completed answered, 1", "empty-response empty, 1", "not-run, error finish-unknown, 1"],
    ["tool-calls", "completed answered, 1", "error no-output, 1", "completed, completed answered, 2"],
    ["length", "completed length, 1", "error no-output, 1", "truncated, completed answered, 2"],
    ["context-full", "completed length, 1", "error no-output, 1", "truncated, completed answered, 2"],
    ["refusal", "completed refusal, 1", "completed refusal, 1", "not-run, completed refusal, 1"],
    ["content-filter", "completed content-filter, 1", "completed content-filter, 1", "not-run, completed content-filter, 1"],
    ["malformed-call", "completed answered, 2", "completed answered, 2", "malformed, completed answered, 2"],
    // The second stream finishes with "stop". That is invalid, because the message still has the calls of the first stream.
    ["paused", "completed answered, 2", "completed answered, 2", "not-run, error finish-unknown, 2"],
    ["continue", "completed answered, 2", "completed answered, 2", "not-run, error finish-unknown, 2"],
    ["error", "error finish-error, 1", "error finish-error, 1", "not-run, error finish-error, 1"],
    ["unknown", "error finish-unknown, 1", "error finish-unknown, 1", "not-run, error finish-unknown, 1"],
    ["nothing", "error stream-ended-early, 1", "error stream-ended-early, 1", "not-run, error stream-ended-early, 1"],
  ])(
    '"%s" has the expected effect for a message with text, with calls and without content',
    async ([how, withText, withNothing, withCalls]) => {
      const summarize = async (...said: MockPart[]): Promise<string> => {
        const playing = play([[...said, endOf(how)], text("Good.")], { tools: [note] });
        return summaryOf(await playing.result, playing);
      };
      expect(await summarize(text("So."))).toBe(withText);
      expect(await summarize()).toBe(withNothing);
      expect(await summarize(text(" \n"))).toBe(withNothing);
      expect(await summarize(...calls)).toBe(withCalls);
      expect(await summarize(text("So."), ...calls)).toBe(withCalls);
    },
  );

  it.for<[how: FinishReason, withNothing: string, withCalls: string]>([
    ["tool-calls", "", "tool"],
    ["length", "", "tool"],
    ["context-full", "", "tool"],
    [
      "malformed-call",
      'user: "Your last tool call was malformed. Send the complete call again."',
      'user: "Your last tool call was malformed. Send the complete call again."',
    ],
    ["paused", 'user: "Go."', "assistant"],
    ["continue", 'user: "Go."', 'user: "Go."'],
  ])('"%s" determines the last message of the next request', async ([how, withNothing, withCalls]) => {
    const lastSent = async (...said: MockPart[]): Promise<string> => {
      const playing = play([[...said, endOf(how)], text("Good.")], { tools: [note] });
      await playing.result;
      return lastOf(playing.provider.requests[1]);
    };
    expect(await lastSent()).toBe(withNothing);
    expect(await lastSent(...calls)).toBe(withCalls);
  });

  it.for<[how: FinishReason, what: string, said: readonly MockPart[]]>([
    ["length", "two calls", calls],
    ["context-full", "two calls", calls],
    ["malformed-call", "no content", []],
    ["malformed-call", "only text", [text("So.")]],
    ["malformed-call", "two calls", calls],
  ])('"%s" of a message with %s counts as one tool error', async ([how, , said]) => {
    const end = async (maxConsecutiveToolErrors: number): Promise<string> => {
      const { result } = play([[...said, finish(how)], text("Good.")], { tools: [note], limits: { maxConsecutiveToolErrors } });
      return (await result).reason.kind;
    };
    expect([await end(1), await end(2)]).toEqual(["tool-error-cap", "answered"]);
  });
});
