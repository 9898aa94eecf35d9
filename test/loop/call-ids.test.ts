import { describe, expect, it } from "vitest";
import type { AssistantMessage, Message } from "turnwright";
import { finish, type MockPart, text, toolCall } from "turnwright/testing";
import { answersOf, play, tool } from "./play.ts";

const echo = tool("echo", (args) => args);
const said = (n: number, id?: string): MockPart => toolCall("echo", { n }, { id });

async function idsOf(
  turns: readonly (readonly MockPart[])[],
  messages?: readonly Message[],
): Promise<readonly (readonly [id: string, given: string | undefined])[]> {
  const { result } = play([...turns, text("Done.")], { tools: [echo], ...(messages && { messages }) });
  const ended = await result;
  const turnsOf = ended.messages
    .slice(messages?.length ?? 1)
    .filter((message): message is AssistantMessage => message.role === "assistant");
  const calls = turnsOf.flatMap(({ content }) => content.flatMap((part) => (part.type === "tool-call" ? [part] : [])));
  // Each call has its own answer, whatever its id.
  const answers = answersOf({ messages: ended.messages.slice(messages?.length ?? 1) });
  expect(answers.map(({ callId, result: data }) => [callId, data])).toEqual(calls.map(({ callId, args }) => [callId, args]));
  return calls.map(({ callId, providerCallId }) => [callId, providerCallId]);
}

describe("the id of a call", () => {
  it.for<[case_: string, turns: readonly (readonly MockPart[])[], ids: readonly (readonly [string, string | undefined])[]]>([
    [
      "is the provider's own",
      [[said(1, "x"), said(2, "y")]],
      [
        ["x", "x"],
        ["y", "y"],
      ],
    ],
    [
      "comes from its place where there is none",
      [[said(1), said(2)], [said(3)]],
      [
        ["call_i0_0", undefined],
        ["call_i0_1", undefined],
        ["call_i1_0", undefined],
      ],
    ],
    ["comes from its place where it is empty", [[said(1, "")]], [["call_i0_0", ""]]],
    [
      "is new for a duplicate in the turn",
      [[said(1, "x"), said(2, "x"), said(3, "x")]],
      [
        ["x", "x"],
        ["call_i0_1", "x"],
        ["call_i0_2", "x"],
      ],
    ],
    [
      "is new for one of an earlier turn",
      [[said(1, "x")], [said(2, "x")]],
      [
        ["x", "x"],
        ["call_i1_0", "x"],
      ],
    ],
    [
      "gives way to the provider's where it looks like a made one",
      [[said(1, "call_i0_1"), said(2)]],
      [
        ["call_i0_1", "call_i0_1"],
        ["call_i0_1_1", undefined],
      ],
    ],
    [
      "is not given twice where the provider comes later with a made one",
      [[said(1), said(2, "call_i0_0")]],
      [
        ["call_i0_0", undefined],
        ["call_i0_1", "call_i0_0"],
      ],
    ],
    [
      "is given where the provider's reads as the path to a call inside another one",
      [[said(1, "call_7/call_i0_0"), said(2, "/")]],
      [
        ["call_i0_0", "call_7/call_i0_0"],
        ["call_i0_1", "/"],
      ],
    ],
    [
      "counts on over the continuations of a turn",
      [
        [said(1), finish("paused")],
        [said(2), finish("tool-calls")],
      ],
      [
        ["call_i0_0", undefined],
        ["call_i0_1", undefined],
      ],
    ],
    [
      "is any text",
      [[said(1, "__proto__"), said(2, "constructor"), said(3, " ")]],
      [
        ["__proto__", "__proto__"],
        ["constructor", "constructor"],
        [" ", " "],
      ],
    ],
  ])("%s", async ([, turns, ids]) => {
    expect(await idsOf(turns)).toEqual(ids);
  });

  it("is not one that the conversation holds already", async () => {
    const before: readonly Message[] = [
      { role: "user", content: "Go." },
      {
        role: "assistant",
        content: [
          { type: "tool-call", callId: "x", name: "echo", args: {} },
          { type: "tool-call", callId: "call_i0_1", name: "echo", args: {} },
        ],
      },
      { role: "tool", results: ["x", "call_i0_1"].map((callId) => ({ callId, name: "echo", outcome: "completed", result: 1 })) },
      { role: "user", content: "Again." },
    ];
    expect(await idsOf([[said(1, "x"), said(2)]], before)).toEqual([
      ["call_i0_0", "x"],
      ["call_i0_1_1", undefined],
    ]);
  });

  it("goes on being unique over many runs", async () => {
    let messages: readonly Message[] = [{ role: "user", content: "Go." }];
    for (let round = 0; round < 3; round += 1) {
      const { result } = play([[said(round), said(round, "x")], text("Done.")], { tools: [echo], messages });
      messages = [...(await result).messages, { role: "user", content: "Again." }];
    }
    const ids = answersOf({ messages }).map((part) => part.callId);
    expect(ids).toEqual(["call_i0_0", "x", "call_i0_0_1", "call_i0_1", "call_i0_0_2", "call_i0_1_1"]);
  });

  it("ties a call's pieces together by its key, not by its id: arguments are never joined", async () => {
    const fragments = (n: number): MockPart => toolCall("echo", { n, long: "x".repeat(20) }, { id: "same", fragments: 5 });
    const { result } = play([[fragments(1), fragments(2)], text("Done.")], { tools: [echo] });
    expect(answersOf(await result).map((part) => part.result)).toEqual([1, 2].map((n) => ({ n, long: "x".repeat(20) })));
  });
});
