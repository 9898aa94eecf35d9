import { describe, expect, it } from "vitest";
import { type AssistantMessage, type Journal, type LoopResult, type Message, withFallback } from "turnwright";
import { createMockProvider, endEarly, finish, type MockPart, type MockProvider, text, toolCall } from "turnwright/testing";
import { createDurableStore } from "./durable-store.ts";
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
  const answers = answersOf({ messages: ended.messages.slice(messages?.length ?? 1) });
  expect(answers.map(({ callId, result: data }) => [callId, data])).toEqual(calls.map(({ callId, args }) => [callId, args]));
  return calls.map(({ callId, providerCallId }) => [callId, providerCallId]);
}

describe("callId", () => {
  it.for<[case_: string, turns: readonly (readonly MockPart[])[], ids: readonly (readonly [string, string | undefined])[]]>([
    [
      "is the provider's id if this id is unique",
      [[said(1, "x"), said(2, "y")]],
      [
        ["x", "x"],
        ["y", "y"],
      ],
    ],
    [
      "is built from the iteration and index if the provider gives none",
      [[said(1), said(2)], [said(3)]],
      [
        ["call_i0_0", undefined],
        ["call_i0_1", undefined],
        ["call_i1_0", undefined],
      ],
    ],
    ["is built from the iteration and index if the provider's id is empty", [[said(1, "")]], [["call_i0_0", ""]]],
    [
      "is generated if an earlier call in the message has the same provider id",
      [[said(1, "x"), said(2, "x"), said(3, "x")]],
      [
        ["x", "x"],
        ["call_i0_1", "x"],
        ["call_i0_2", "x"],
      ],
    ],
    [
      "is generated if a call in an earlier message has the same provider id",
      [[said(1, "x")], [said(2, "x")]],
      [
        ["x", "x"],
        ["call_i1_0", "x"],
      ],
    ],
    [
      "gets a suffix if the provider has already sent the generated id for another call",
      [[said(1, "call_i0_1"), said(2)]],
      [
        ["call_i0_1", "call_i0_1"],
        ["call_i0_1_1", undefined],
      ],
    ],
    [
      "is generated if the provider sends the generated id of another call",
      [[said(1), said(2, "call_i0_0")]],
      [
        ["call_i0_0", undefined],
        ["call_i0_1", "call_i0_0"],
      ],
    ],
    [
      "is generated if the provider's id contains a slash, as ids of nested calls do",
      [[said(1, "call_7/call_i0_0"), said(2, "/")]],
      [
        ["call_i0_0", "call_7/call_i0_0"],
        ["call_i0_1", "/"],
      ],
    ],
    [
      "contains the position of the call among all calls of a continued message",
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
      'may be any other string from the provider, such as "__proto__"',
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

  it("differs from the ids in the given messages", async () => {
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

  it("stays unique over several runs of one conversation", async () => {
    let messages: readonly Message[] = [{ role: "user", content: "Go." }];
    for (let round = 0; round < 3; round += 1) {
      const { result } = play([[said(round), said(round, "x")], text("Done.")], { tools: [echo], messages });
      messages = [...(await result).messages, { role: "user", content: "Again." }];
    }
    const ids = answersOf({ messages }).map((part) => part.callId);
    expect(ids).toEqual(["call_i0_0", "x", "call_i0_0_1", "call_i0_1", "call_i0_0_2", "call_i0_1_1"]);
  });

  it("differs from the ids of discarded attempts, even after a resume", async () => {
    const provider = (isBroken: boolean): MockProvider =>
      createMockProvider(({ iteration }) => {
        if (iteration === 0) return isBroken ? [said(1, "x"), endEarly()] : [said(1, "y")];
        return iteration === 1 ? said(2, "x") : text("Done.");
      });
    const start = (journal: Journal): Promise<LoopResult> =>
      play([], { tools: [echo], runId: "ids", provider: withFallback([provider(true), provider(false)]), journal }).result;
    const store = createDurableStore();
    const whole = await start(createDurableStore().open());
    await expect(start(store.open({ after: "i0/request/model" }))).rejects.toThrow("The process died.");
    const resumed = await start(store.open());
    expect(answersOf(whole).map(({ callId }) => callId)).toEqual(["y", "call_i1_0"]);
    expect(resumed.messages).toEqual(whole.messages);
  });

  it("is unique for two calls with the same provider id, and each call keeps its own arguments", async () => {
    const fragments = (n: number): MockPart => toolCall("echo", { n, long: "x".repeat(20) }, { id: "same", fragments: 5 });
    const { result } = play([[fragments(1), fragments(2)], text("Done.")], { tools: [echo] });
    expect(answersOf(await result).map((part) => part.result)).toEqual([1, 2].map((n) => ({ n, long: "x".repeat(20) })));
  });
});
