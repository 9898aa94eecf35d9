import { describe, expect, it } from "vitest";
import { isLoopError, type Message, repairMessages } from "turnwright";
import { text, toolCall } from "turnwright/testing";
import { answersOf, never, play, tool } from "./play.ts";
import { refusal } from "./refusal.ts";

const user = (content: string): Message => ({ role: "user", content });
const asks = (...ids: readonly string[]): Message => ({
  role: "assistant",
  content: ids.map((callId) => ({ type: "tool-call", callId, name: "t", args: {} })),
});
const answers = (...ids: readonly string[]): Message => ({
  role: "tool",
  results: ids.map((callId) => ({ callId, name: "t", outcome: "completed", result: callId })),
});

function deep(levels: number): object {
  let value: object = {};
  for (let level = 0; level < levels; level += 1) value = { a: value };
  return value;
}

describe("the messages option", () => {
  const bad: readonly (readonly [what: string, messages: readonly unknown[], index: number])[] = [
    ["a number in place of a message", [user("a"), 7], 1],
    ["null in place of a message", [null], 0],
    [
      "arguments nested too deeply",
      [
        user("a"),
        { role: "assistant", content: [{ type: "tool-call", callId: "x", name: "t", args: deep(1_100) }] },
        answers("x"),
      ],
      1,
    ],
    ["an unknown role", [{ role: "system", content: "Be brief." }], 0],
    ["a user message without content", [{ role: "user" }], 0],
    ["an image without a media type", [{ role: "user", content: [{ type: "image", data: "aGk=" }] }], 0],
    ["an assistant message with a number as its content", [user("a"), { role: "assistant", content: 1 }], 1],
    [
      "a call with an empty id",
      [user("a"), { role: "assistant", content: [{ type: "tool-call", callId: "", name: "t", args: {} }] }],
      1,
    ],
    [
      "an image without data in a tool result",
      [
        user("a"),
        asks("x"),
        {
          role: "tool",
          results: [
            { callId: "x", name: "t", outcome: "completed", result: 1, content: [{ type: "image", mediaType: "image/png" }] },
          ],
        },
      ],
      2,
    ],
    ["an incomplete tool result", [user("a"), asks("x"), { role: "tool", results: [{ callId: "x" }] }], 2],
    ["a misspelt field that the message lacks", [{ role: "user", content: "a", metdata: {} }], 0],
    [
      "a misspelt field of a call",
      [
        user("a"),
        { role: "assistant", content: [{ type: "tool-call", callId: "x", name: "t", args: {}, aprovedArgs: {} }] },
        answers("x"),
      ],
      1,
    ],
    ["an unanswered call at the end", [user("a"), asks("x")], 1],
    ["an unanswered call before a user message", [user("a"), asks("x"), user("b")], 1],
    ["an unanswered call before another assistant message", [user("a"), asks("x"), asks("y"), answers("y")], 1],
    ["an unanswered call next to an answered call", [user("a"), asks("x", "y"), answers("x")], 2],
    ["a result without a call", [user("a"), answers("x")], 1],
    ["a result with the id of another call", [user("a"), asks("x"), answers("y")], 2],
    ["one result too many", [user("a"), asks("x"), answers("x", "y")], 2],
    ["a call answered twice in one message", [user("a"), asks("x"), answers("x", "x")], 2],
    ["a call answered again in a later message", [user("a"), asks("x"), answers("x"), answers("x")], 3],
    ["a call id reused in a later message", [user("a"), asks("x"), answers("x"), asks("x"), answers("x")], 3],
    ["a call id used twice in one message", [user("a"), asks("x", "x"), answers("x")], 1],
  ];

  it.for(bad)("is rejected with the message's index if it contains %s", async ([, messages, index]) => {
    expect(await refusal({ messages })).toMatchObject({
      code: "invalid-messages",
      details: { index },
      message: expect.stringContaining(`Message ${index} `),
    });
  });

  it.for<[what: string, message: object, expected: string]>([
    [
      "contents",
      { role: "user", contents: "a" },
      'Message 0 has invalid "content": it must be a string or an array of content parts. It has an unknown field "contents". Did you mean "content"?',
    ],
    [
      "toolcallId",
      { role: "tool", results: [{ toolcallId: "x", name: "t", outcome: "completed", result: 1 }] },
      'It has an unknown field "toolcallId". Did you mean "callId"?',
    ],
    [
      "metdata",
      { role: "user", content: "a", metdata: {} },
      'Message 0 has an unknown field "metdata". Did you mean "metadata"?',
    ],
    [
      "filname of a file",
      { role: "user", content: [{ type: "file", mediaType: "a/b", data: "aGk=", filname: "a" }] },
      'Message 0 has an unknown field "filname". Did you mean "filename"?',
    ],
  ])("is rejected with a suggestion for the misspelled field %s", async ([, message, expected]) => {
    expect((await refusal({ messages: [message] })).message).toContain(expected);
  });

  it.for<[what: string, message: object]>([
    ["a date", { role: "user", content: "a", createdAt: "2026-11-28", date: 1 }],
    ["an id (assistant message)", { role: "assistant", id: "m1", content: "a" }],
    ["application data", { role: "user", content: "a", tenant: "b", toString: 1, seen: true, name: "Ada" }],
    ["a field similar to one that the message has", { role: "user", content: "a", contents: [] }],
    ["a date in a file", { role: "user", content: [{ type: "file", mediaType: "a/b", data: "aGk=", date: 1 }] }],
    ["data in a text part", { role: "assistant", content: [{ type: "text", text: "a", id: "p1", state: "done" }] }],
  ])("is accepted if a message has %s in addition to the defined fields", async ([, message]) => {
    const messages = [message as Message, user("b")];
    expect((await play([text("Hi.")], { messages }).result).text).toBe("Hi.");
  });

  const refusalOfRepair = (messages: readonly unknown[]): unknown => {
    try {
      return repairMessages(messages as readonly Message[]);
    } catch (error) {
      return isLoopError(error) ? error : undefined;
    }
  };
  const outcome = (callId: string): string => `${callId}: not-run`;
  it.for<[what: string, messages: readonly Message[], roles: string, notRun: readonly string[]]>([
    ["an unanswered call at the end", [user("a"), asks("x")], "user assistant tool", [outcome("x")]],
    ["an unanswered call before a user message", [user("a"), asks("x"), user("b")], "user assistant tool user", [outcome("x")]],
    [
      "an unanswered call before another assistant message",
      [user("a"), asks("x"), asks("y"), answers("y")],
      "user assistant tool assistant tool",
      [outcome("x")],
    ],
    [
      "an unanswered call next to an answered call",
      [user("a"), asks("x", "y"), answers("y")],
      "user assistant tool",
      [outcome("x")],
    ],
    ["a result without a call", [user("a"), answers("x"), user("b")], "user user", []],
    ["a result with the id of another call", [user("a"), asks("x"), answers("y")], "user assistant tool", [outcome("x")]],
    ["one result too many", [user("a"), asks("x"), answers("x", "y")], "user assistant tool", []],
    ["a call answered twice in one message", [user("a"), asks("x"), answers("x", "x")], "user assistant tool", []],
    ["valid messages", [user("a"), asks("x"), answers("x"), user("b")], "user assistant tool user", []],
  ])("is accepted after repairMessages if it contains %s", async ([, messages, roles, notRun]) => {
    const playing = play([text("Hi.")], { messages: repairMessages(messages) });
    await playing.result;
    const sent = playing.provider.requests[0]?.messages ?? [];
    expect(sent.map(({ role }) => role).join(" ")).toBe(roles);
    const refused = answersOf({ messages: sent }).filter((part) => part.outcome === "not-run");
    expect(refused.map((part) => `${part.callId}: ${part.outcome}`)).toEqual(notRun);
    // The next run accepts the repaired messages, and does not run the calls in them.
    expect((await play([text("Again.")], { messages: sent, tools: [tool("t", () => never)] }).result).text).toBe("Again.");
  });

  it.for(bad.slice(0, 9))("is rejected by repairMessages if it contains %s", ([, messages, index]) => {
    expect(refusalOfRepair(messages)).toMatchObject({ code: "invalid-messages", details: { index } });
  });

  it("is rejected by repairMessages with the index in the original list of messages", () => {
    const messages = [user("a"), asks("x", "y"), answers("x"), answers("y"), user("b"), 7];
    expect(refusalOfRepair(messages)).toMatchObject({ code: "invalid-messages", details: { index: 5 } });
  });

  it("is not modified by the run", async () => {
    const messages = [user("a"), asks("x"), answers("x"), user("b")];
    const before = structuredClone(messages);
    const result = await play([toolCall("t"), text("Hi.")], { messages, tools: [tool("t", () => 1)] }).result;
    expect([messages, result.messages.slice(0, 4)]).toEqual([before, before]);
  });
});
