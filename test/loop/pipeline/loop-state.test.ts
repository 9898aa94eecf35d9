import { describe, expect, it } from "vitest";
import { toolResult, type LoopOptions } from "turnwright";
import {
  createMockProvider,
  details,
  fail,
  finish,
  type MockPart,
  type MockMessage,
  providerMetadata,
  stall,
  text,
  thoughtLog,
  toolCall,
} from "turnwright/testing";
import { play, tool, type Playing } from "../play.ts";

const look = tool("look", (args) => args);
const start = (script: readonly MockMessage[], more: Partial<LoopOptions> = {}): Playing =>
  play(script, { tools: [look], ...more });

describe("result.streamResults", () => {
  it.for<[status: string, turn: MockMessage, act?: (playing: Playing) => unknown]>([
    ["completed", text("Done.")],
    ["error", [text("Half"), fail({ status: 503 })]],
    ["timeout", [text("Half"), stall()], ({ clock }) => clock.advance(120_000)],
    ["empty-response", finish("stop")],
    ["stopped-by-user", [text("Half"), stall()], ({ control }) => control.stop()],
  ])('has an entry for every stream, and its last entry has the status of the run: "%s"', async ([status, turn, act]) => {
    const playing = start([toolCall("look"), turn]);
    await playing.clock.flush();
    await act?.(playing);
    const result = await playing.result;
    expect([result.status, result.streamResults.map((each) => each.status)]).toEqual([status, ["tool-calls", status]]);
  });

  it("has an entry for an interrupted stream", async () => {
    const playing = start([[text("Half"), stall()]]);
    await playing.clock.flush();
    playing.control.interrupt("Wait.");
    const { streamResults } = await playing.result;
    expect(streamResults.map(({ status, text: said }) => [status, said])).toEqual([["follow-up-interrupt", "Half"]]);
  });
});

describe("the results of calls", () => {
  it("are paired with their calls in result.functionHistory, in call order", async () => {
    const image = { type: "image", mediaType: "image/png", data: "aGk=" } as const;
    const paint = tool("paint", () => toolResult({ data: "painted", content: [image] }));
    const playing = start(
      [[text("See: "), toolCall("look", { at: "sea" }, { id: "a" }), toolCall("paint")], toolCall("none"), text("Done.")],
      { tools: [look, paint] },
    );
    const { functionHistory } = await playing.result;
    expect(functionHistory).toEqual([
      {
        functionCall: { id: "a", name: "look", args: { at: "sea" } },
        functionResponse: { name: "look", response: { result: { at: "sea" } } },
        outcome: "completed",
        iteration: 0,
        durationMs: 0,
        content: undefined,
        preToolText: "See: ",
      },
      {
        functionCall: { id: "call_i0_1", name: "paint", args: {} },
        functionResponse: { name: "paint", response: { result: "painted" } },
        outcome: "completed",
        iteration: 0,
        durationMs: 0,
        content: [image],
        preToolText: "See: ",
      },
      expect.objectContaining({ outcome: "unknown-tool", iteration: 1, preToolText: undefined }),
    ]);
  });

  it("appear in the messages of every later request", async () => {
    const playing = start([toolCall("look", { n: 1 }), toolCall("look", { n: 2 }), text("Done.")]);
    await playing.result;
    const answers = playing.provider.requests.map(({ messages }) =>
      messages.flatMap((message) => (message.role === "tool" ? message.results.map(({ result }) => result) : [])),
    );
    expect(answers).toEqual([[], [{ n: 1 }], [{ n: 1 }, { n: 2 }]]);
  });
});

describe("provider metadata", () => {
  it("is collected across iterations, and sent back with its iteration's message", async () => {
    const playing = start([
      [providerMetadata({ sign: 1 }), providerMetadata({ sign: 2 }), toolCall("look")],
      [providerMetadata({ sign: 3 }), toolCall("look")],
      [providerMetadata({ sign: 4 }), text("Done.")],
    ]);
    const { accumulatedModelParts } = await playing.result;
    const part = (sign: number): object => ({ provider: "mock", model: "mock-model", item: { sign } });
    expect(accumulatedModelParts).toEqual([1, 2, 3, 4].map(part));
    const sent = playing.provider.requests.map(({ messages }) =>
      messages.flatMap((message) => (message.role === "assistant" ? (message.providerMetadata ?? []) : [])),
    );
    expect(sent).toEqual([[], [1, 2].map(part), [1, 2, 3].map(part)]);
  });
});

describe("result.text", () => {
  it.for<[what: string, last: MockMessage, text: string]>([
    ["has text", text(" More. "), "More."],
    ["has only whitespace", text(" \n"), "First."],
    ["is empty", finish("stop"), "First."],
    ["fails after text", [text("Mo"), fail({ status: 503 })], "Mo"],
    ["fails without text", fail({ status: 503 }), "First."],
    ["calls a tool again", [text("More."), toolCall("look")], "More."],
  ])("is the newest text with content if the last iteration %s", async ([, last, said]) => {
    const result = await start([[text(" First. "), toolCall("look")], last], { limits: { maxIterations: 2 } }).result;
    expect(result.text).toBe(said);
  });
});

describe("result.details", () => {
  const detailsOf = async (turns: readonly MockMessage[], more: Partial<LoopOptions> = {}): Promise<readonly string[]> => {
    const result = await start(turns, more).result;
    return [result.details, result.responseText];
  };

  it.for<[what: string, turns: readonly MockMessage[], details: string, response: string]>([
    ["no details", [text("Hi.")], "", "Hi."],
    ["one part", [[text("Hi."), details(" Night.\n")]], "Night.", "Hi.\n\nNight."],
    [
      "several parts, without the blank ones",
      [[details("Night."), text("Hi."), details(" "), details("Rain."), details("")]],
      "Night.\n\nRain.",
      "Hi.\n\nNight.\n\nRain.",
    ],
    [
      "details from an earlier iteration if later ones have none",
      [
        [details("Night."), toolCall("look")],
        [text("Hi."), details(" ")],
      ],
      "Night.",
      "Hi.\n\nNight.",
    ],
    [
      "details from the last iteration that has some",
      [
        [details("Night."), toolCall("look")],
        [text("Hi."), details("Day.")],
      ],
      "Day.",
      "Hi.\n\nDay.",
    ],
    ["details without text", [[details("Night."), toolCall("look")], finish("stop")], "Night.", "Night."],
  ])("come after the text in responseText (%s)", async ([, turns, said, response]) => {
    expect(await detailsOf(turns)).toEqual([said, response]);
  });

  it("come after the label session.detailsLabel in responseText", async () => {
    const session = { detailsLabel: "Scene:" };
    expect(await detailsOf([[text("Hi."), details("Night.")]], { session })).toEqual(["Night.", "Hi.\n\nScene:\nNight."]);
  });
});

describe("result.thoughtLog", () => {
  const logged = (mood: string): MockPart => thoughtLog({ mood });

  it("is the last log from any iteration, even if the run fails later", async () => {
    const result = await start([
      [logged("calm"), toolCall("look")],
      [logged("merry"), logged("stern"), toolCall("look")],
      [text("Do"), fail({ status: 503 })],
    ]).result;
    expect([result.status, result.thoughtLog, result.thoughtLogOwner]).toEqual([
      "error",
      { mood: "stern" },
      { kind: "default", name: undefined },
    ]);
  });

  it("belongs to session.responseTarget, as result.thoughtLogOwner says", async () => {
    const session = { responseTarget: { kind: "persona", name: "Mira" } } as const;
    const owned = await start([[logged("calm"), text("Hi.")]], { session }).result;
    const none = await start([text("Hi.")], { session }).result;
    expect([owned.thoughtLogOwner, none.thoughtLogOwner]).toEqual([{ kind: "persona", name: "Mira" }, undefined]);
  });
});

describe("a run that falls back to a different model", () => {
  it("can be continued from result.messages in a new run, without running a tool again", async () => {
    let ran = 0;
    const work = tool("work", () => (ran += 1));
    const first = await start([toolCall("work"), fail({ status: 503 })], { tools: [work] }).result;
    const fallback = createMockProvider([text("Done.")], { id: "other", model: "other-model" });
    const second = await start([], { provider: fallback, tools: [work], messages: first.messages }).result;
    expect([first.status, second.status, second.text, ran]).toEqual(["error", "completed", "Done.", 1]);
    expect(fallback.requests[0]?.messages).toEqual(first.messages);
  });
});
