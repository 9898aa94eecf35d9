import { describe, expect, it } from "vitest";
import {
  approve,
  createLoopControl,
  finalAnswer,
  type LoopControl,
  type LoopOptions,
  type LoopResult,
  memoryJournal,
  onIteration,
  prepareIteration,
  type Provider,
} from "turnwright";
import { createMockProvider, finish, type MockMessage, stall, text, toolCall, usage, wait } from "turnwright/testing";
import { never, play, type Playing, tool } from "./play.ts";
import { linesOf, textsOf } from "./transcript-lines.ts";

const quick = tool("quick", () => "done");
const interrupted = (content: string): LoopResult["reason"] => ({ kind: "interrupted", message: { role: "user", content } });

async function recall({ options }: Playing, { journal }: LoopResult): Promise<unknown> {
  const saved = memoryJournal(JSON.parse(JSON.stringify(journal)));
  const { journal: _, ...again } = await play([], { ...options, control: undefined, events: undefined, journal: saved }).result;
  return JSON.parse(JSON.stringify(again));
}

const plain = ({ journal: _, ...rest }: LoopResult): unknown => JSON.parse(JSON.stringify(rest));

describe("control.interrupt() before the first tool call", () => {
  it("ends the run without a model request if called before the run", async () => {
    const control = createLoopControl();
    control.interrupt("Wait.");
    const playing = play([], { control });
    const result = await playing.result;
    expect([result.status, result.reason, playing.provider.calls]).toEqual(["follow-up-interrupt", interrupted("Wait."), 0]);
    expect([linesOf(result.messages), result.undelivered]).toEqual([["user: Go."], []]);
  });

  it.for<[where: string, turn: MockMessage, options?: Partial<LoopOptions>]>([
    ["before the first chunk", stall()],
    ["during text", [text("Let me "), stall()]],
    ["during a stream that ignores its signal", [text("Let me "), stall({ ignoreSignal: true })]],
    ["during the arguments of a call", [text("Let me "), toolCall("quick", { a: 1 }, { fragments: 3 }), stall()]],
    ["during prepareIteration", text("No."), { middleware: [prepareIteration(() => never)] }],
    [
      "while a stream settles after limits.wallClockMs",
      [text("Let me "), stall({ ignoreSignal: true })],
      { limits: { wallClockMs: 20 } },
    ],
  ])("ends the run immediately if called %s", async ([where, turn, options]) => {
    const playing = play([turn], { tools: [quick], ...options });
    await playing.clock.advance(50);
    expect(playing.control.interrupt("Wait.")).toBe("accepted");
    const result = await playing.result;
    expect([result.status, result.reason, playing.endedAt()]).toEqual(["follow-up-interrupt", interrupted("Wait."), 50]);
    // The next run requests the message again, so the partial text is only in `streamResults`.
    expect([result.text, linesOf(result.messages), result.undelivered, result.functionHistory]).toEqual([
      "",
      ["user: Go."],
      [],
      [],
    ]);
    const streamed = result.streamResults.map((iteration) => [iteration.status, iteration.text]);
    const said = where.includes("first") ? "" : "Let me ";
    expect(streamed).toEqual(where.includes("prepare") ? [] : [["follow-up-interrupt", said]]);
    expect([playing.clock.pending, playing.control.isToolChainActive(), playing.control.hasStopRequest()]).toEqual([
      0,
      false,
      false,
    ]);
    expect(await recall(playing, result)).toEqual(plain(result));
  });

  it("counts the tokens used so far and aborts the provider's signal with a reason", async () => {
    let reason: unknown;
    const provider: Provider = {
      id: "p",
      model: "m",
      async *stream(_, { signal }) {
        yield { type: "usage", usage: { inputTokens: 5, outputTokens: 1, totalTokens: 6 }, mode: "snapshot" };
        signal.addEventListener("abort", () => (reason = signal.reason));
        yield await never;
      },
    };
    const playing = play([], { provider });
    await playing.clock.flush();
    playing.control.interrupt("Wait.");
    expect((await playing.result).usage.totalTokens).toBe(6);
    expect(reason).toMatchObject({ name: "AbortError", message: "The run was interrupted." });
  });

  it("leaves no stream open if called while the provider opens a stream", async () => {
    const control = createLoopControl();
    const mock = createMockProvider([[text("Let me "), stall()]]);
    const { id, model } = mock;
    const stream: Provider["stream"] = (request, call) => (control.interrupt("Wait."), mock.stream(request, call));
    const playing = play([], { control, provider: { id, model, stream } });
    expect((await playing.result).reason).toEqual(interrupted("Wait."));
    await playing.clock.flush();
    expect(mock.active).toBe(0);
  });

  it("keeps an answer that the model gave before a steered message", async () => {
    const playing = play([
      [text("Hi."), usage({ inputTokens: 1, outputTokens: 1 })],
      [text("And "), stall()],
    ]);
    const { control, recording } = playing;
    recording.emitter.once("iteration-start", () => void control.steer("More."));
    await playing.clock.flush();
    control.interrupt("Wait.");
    const result = await playing.result;
    expect([result.reason, result.text]).toEqual([interrupted("Wait."), "Hi."]);
    expect(linesOf(result.messages)).toEqual(["user: Go.", "assistant: Hi.", "user: More."]);
  });

  it("ends the run during the final answer", async () => {
    const script = [finish("malformed-call"), [text("In sh"), stall()]];
    const playing = play(script, { limits: { maxIterations: 1 }, middleware: [finalAnswer()] });
    await playing.clock.flush();
    playing.control.interrupt("Wait.");
    const result = await playing.result;
    expect([result.status, result.reason, result.undelivered]).toEqual(["follow-up-interrupt", interrupted("Wait."), []]);
  });

  it("uses only the first interrupt, and returns all other messages in order", async () => {
    const playing = play([[text("Let me "), stall()]]);
    await playing.clock.flush();
    const { control } = playing;
    control.steer("a");
    control.interrupt("b");
    control.interrupt("c");
    control.steer("d");
    const result = await playing.result;
    expect([result.reason, textsOf(result.undelivered)]).toEqual([interrupted("b"), ["a", "c", "d"]]);
    expect(await recall(playing, result)).toEqual(plain(result));
  });

  it.for<[higher: string, act: (playing: Playing) => unknown, reason: string]>([
    ["stop", ({ control }) => control.stop(), "stopped"],
    ["kill", ({ control }) => control.kill(), "killed"],
    ["abort", ({ abort }) => abort.abort(), "aborted"],
  ])('returns the message as undelivered if a "%s" comes before or after the interrupt', async ([, act, reason]) => {
    const interrupt = ({ control }: Playing): unknown => control.interrupt("Wait.");
    for (const acts of [
      [act, interrupt],
      [interrupt, act],
    ]) {
      const playing = play([[text("Let me "), stall()]]);
      await playing.clock.flush();
      for (const each of acts) each(playing);
      const result = await playing.result;
      expect([result.reason.kind, textsOf(result.undelivered)]).toEqual([reason, ["Wait."]]);
      expect(await recall(playing, result)).toEqual(plain(result));
    }
  });
});

describe("control.interrupt() after the first tool call or answer", () => {
  it.for<[where: string, script: readonly MockMessage[], options?: Partial<LoopOptions>]>([
    ["during a later iteration", [toolCall("quick"), [wait(100), text("Done.")]]],
    ["during a tool", [[toolCall("slow"), toolCall("alone")], text("Done.")]],
    ["during a call that only its timeout ends", [toolCall("deaf"), text("Done.")]],
    [
      "during an approval",
      [toolCall("quick"), text("Done.")],
      { middleware: [approve(() => never)], timeouts: { approvalMs: 60 } },
    ],
    [
      "during onIteration",
      [toolCall("quick"), text("Done.")],
      { middleware: [onIteration(() => never)], timeouts: { callbackMs: 60 } },
    ],
    ["after a call to an unknown tool", [toolCall("nothing"), [wait(100), text("Done.")]]],
    [
      "after calls that were cut off",
      [
        [toolCall("quick"), finish("length")],
        [wait(100), text("Done.")],
      ],
    ],
  ])("returns its message as undelivered, without ending the run, if called %s", async ([, script, options]) => {
    const run = (says: (control: LoopControl) => unknown): Promise<Playing> => {
      const playing = play(script, ({ clock }) => ({
        tools: [
          quick,
          tool("slow", () => new Promise((resolve) => clock.setTimeout(() => resolve(1), 100))),
          tool("alone", () => 2, { sequential: true }),
          tool("deaf", () => never, { timeoutMs: 100 }),
        ],
        runId: "on",
        ...options,
      }));
      return playing.clock
        .advance(50)
        .then(() => says(playing.control))
        .then(() => playing.clock.runAll())
        .then(() => playing);
    };
    const playing = await run((control) =>
      expect([control.interrupt("Wait."), control.isToolChainActive()]).toEqual(["accepted", true]),
    );
    const result = await playing.result;
    expect(textsOf(result.undelivered)).toEqual(["Wait."]);
    const undisturbed = await (await run(() => {})).result;
    expect({ ...Object(plain(result)), undelivered: [] }).toEqual(plain(undisturbed));
    expect(await recall(playing, result)).toEqual(plain(result));
  });

  it("returns its message as undelivered, without changing a finished answer", async () => {
    const playing = play([text("Hi.")]);
    playing.recording.emitter.on("iteration-end", () => void playing.control.interrupt("Wait."));
    const result = await playing.result;
    expect([result.reason.kind, result.text, textsOf(result.undelivered)]).toEqual(["answered", "Hi.", ["Wait."]]);
    expect(await recall(playing, result)).toEqual(plain(result));
  });
});
