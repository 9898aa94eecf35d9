import { describe, expect, it } from "vitest";
import type { FinishReason, LoopResult, ModelRequest } from "turnwright";
import { endEarly, finish, type MockPart, text, toolCall } from "turnwright/testing";
import { answersOf, outcomesOf, play, tool, type Playing } from "./play.ts";

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
      const summarise = async (...said: MockPart[]): Promise<string> => {
        const playing = play([[...said, endOf(how)], text("Good.")], { tools: [note] });
        return summaryOf(await playing.result, playing);
      };
      expect(await summarise(text("So."))).toBe(withText);
      expect(await summarise()).toBe(withNothing);
      expect(await summarise(text(" \n"))).toBe(withNothing);
      expect(await summarise(...calls)).toBe(withCalls);
      expect(await summarise(text("So."), ...calls)).toBe(withCalls);
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

  it.for<[how: FinishReason, what: string, errors: number, said: readonly MockPart[]]>([
    ["length", "two calls", 2, calls],
    ["context-full", "two calls", 2, calls],
    ["malformed-call", "no content", 1, []],
    ["malformed-call", "only text", 1, [text("So.")]],
    ["malformed-call", "two calls", 2, calls],
  ])('"%s" of a message with %s increases the number of tool errors by %d', async ([how, , errors, said]) => {
    const end = async (maxConsecutiveToolErrors: number): Promise<string> => {
      const { result } = play([[...said, finish(how)], text("Good.")], { tools: [note], limits: { maxConsecutiveToolErrors } });
      return (await result).reason.kind;
    };
    expect([await end(errors), await end(errors + 1)]).toEqual(["tool-error-cap", "answered"]);
  });
});

describe("the calls of a paused message", () => {
  it.for<[next: Ends, outcome: string, ending: string]>([
    ["tool-calls", "completed", "answered"],
    ["stop", "not-run", "provider-error"],
    ["length", "truncated", "answered"],
    ["context-full", "truncated", "answered"],
    ["malformed-call", "malformed", "answered"],
    ["refusal", "not-run", "refusal"],
    ["content-filter", "not-run", "content-filter"],
    ["error", "not-run", "provider-error"],
    ["nothing", "not-run", "provider-error"],
  ])('after a continuation that finishes with "%s" get the outcome "%s"', async ([next, outcome, ending]) => {
    let ran = 0;
    const count = tool("note", () => (ran += 1));
    const turns = [
      [text("One "), toolCall("note"), finish("paused")],
      [text("two"), toolCall("note"), endOf(next)],
      text("Good."),
    ];
    const { result } = play(turns, { tools: [count] });
    const ended = await result;
    expect(outcomesOf(ended)).toEqual([`call_i0_0: ${outcome}`, `call_i0_1: ${outcome}`]);
    expect([ended.reason.kind, ran]).toEqual([ending, outcome === "completed" ? 2 : 0]);
    expect(ended.messages[1]).toMatchObject({ content: [{ text: "One two" }, { callId: "call_i0_0" }, { callId: "call_i0_1" }] });
  });
});

describe("continuations of a message", () => {
  it('resend the message after "paused", and the token after "continue"', async () => {
    const playing = play([
      [text("One "), finish("paused")],
      [text("two "), finish("continue", { token: "t1" })],
      [text("three "), finish("continue", { token: "t2" })],
      [text("four.")],
    ]);
    const result = await playing.result;
    const turnOf = (said: string): object => ({ role: "assistant", content: [{ type: "text", text: said }] });
    const go = { role: "user", content: "Go." };
    expect(playing.provider.requests.map(({ messages, continuationToken }) => [messages, continuationToken])).toEqual([
      [[go], undefined],
      [[go, turnOf("One ")], undefined],
      [[go, turnOf("One ")], "t1"],
      [[go, turnOf("One ")], "t2"],
    ]);
    expect(result.messages).toEqual([go, turnOf("One two three four.")]);
    expect([result.text, result.iterations, result.streamResults.length]).toEqual(["One two three four.", 1, 4]);
  });

  it("end when the pauses of all iterations together exceed limits.maxPauses", async () => {
    const paused = [text("."), finish("paused")];
    const turns = [paused, paused, toolCall("note"), paused, paused, text("never asked for")];
    const playing = play(turns, { tools: [note], limits: { maxPauses: 3, maxIterations: 2 } });
    const result = await playing.result;
    expect([result.reason, result.iterations, playing.provider.calls]).toEqual([{ kind: "max-pauses", limit: 3 }, 2, 5]);
    expect(result.text).toBe("..");
  });

  it.for<[first: FinishReason, second: FinishReason]>([
    ["paused", "continue"],
    ["continue", "paused"],
    ["continue", "continue"],
    ["paused", "paused"],
  ])('keep all text and calls if the run ends between two continuations ("%s", then "%s")', async ([first, second]) => {
    const continuation = (said: string, how: FinishReason): readonly MockPart[] => [text(said), toolCall("note"), finish(how)];
    const playing = play([continuation("One ", first), continuation("two", second)], { tools: [note], limits: { maxPauses: 1 } });
    const result = await playing.result;
    expect(result.messages[1]).toMatchObject({
      content: [{ text: "One two" }, { callId: "call_i0_0" }, { callId: "call_i0_1" }],
    });
    expect([result.reason.kind, outcomesOf(result)]).toEqual(["max-pauses", ["call_i0_0: not-run", "call_i0_1: not-run"]]);
  });

  it("end at the first pause if limits.maxPauses is 0", async () => {
    const playing = play([[text("."), finish("paused")]], { limits: { maxPauses: 0 } });
    expect([(await playing.result).reason.kind, playing.provider.calls]).toEqual(["max-pauses", 1]);
  });
});
