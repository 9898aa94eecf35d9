import { expect, it } from "vitest";
import type { Provider } from "turnwright";
import { createMockProvider, memoryCassette, recordTo, replayFrom, stall, text, wait } from "turnwright/testing";
import { ask, complaintOf, linesOf, record, script, user } from "./cassette-kit.ts";
import { play, request, setUp } from "./play.ts";

it("recordTo: closes the source stream when the reader stops", async () => {
  const source = createMockProvider([text("ab", { chunks: 2 })]);
  for await (const _ of recordTo(memoryCassette(), source).stream(request, setUp().call)) break;
  expect([source.calls, source.active]).toEqual([1, 0]);
});

it("recordTo: records nothing more if the reader closes a stream that has already ended", async () => {
  const cassette = memoryCassette();
  const recorder = recordTo(cassette, script([text("a")]));
  const stream = recorder.stream(request, setUp().call)[Symbol.asyncIterator]();
  while ((await stream.next()).done !== true);
  expect(await stream.return?.()).toEqual({ done: true, value: undefined });
  expect(await stream.next()).toEqual({ done: true, value: undefined });
  expect(linesOf(cassette).at(-1)).toMatchObject({ type: "ended" });
});

it("recordTo: does not record an error after the reader has stopped", async () => {
  const cassette = memoryCassette();
  const { call, abort } = setUp();
  const recorder = recordTo(cassette, script([stall()]));
  const stream = recorder.stream(request, call)[Symbol.asyncIterator]();
  const waiting = stream.next();
  const left = stream.return?.();
  abort.abort("enough");
  await expect(waiting).rejects.toBe("enough");
  await left;
  expect(linesOf(cassette).slice(2)).toEqual([{ type: "left", waiting: true, stream: 0, atMs: 0 }]);
});

it("recordTo: if the signal is aborted, records the abort before the error", async () => {
  const cassette = memoryCassette();
  const { call, abort } = setUp();
  abort.abort("enough");
  await expect(play(recordTo(cassette, script([stall()])), request, call)).rejects.toBe("enough");
  expect(linesOf(cassette).slice(2)).toMatchObject([{ type: "aborted" }, { type: "threw" }]);
});

it("recordTo: writes times in whole milliseconds", async () => {
  const cassette = memoryCassette();
  const { call, clock } = setUp();
  const playing = play(recordTo(cassette, script([wait(50.4), text("a")])), request, call);
  await clock.runAll();
  await playing;
  expect(linesOf(cassette)[2]).toMatchObject({ type: "chunk", atMs: 50 });
});

it("recordTo: overwrites an earlier recording in a memory cassette", async () => {
  const cassette = memoryCassette("something else");
  await play(recordTo(cassette, script([text("a")])));
  await play(recordTo(cassette, script([text("b")])));
  expect(await play(replayFrom(cassette))).toMatchObject([{ text: "b" }, { type: "finish" }]);
});

it("replayFrom: names the first difference from the most similar request with the same number of messages", async () => {
  const row = (...said: readonly string[]): ReturnType<typeof ask> => ask("", { messages: said.map(user) });
  const several = replayFrom(await record(row("a", "b", "c", "d", "e"), row("a", "b", "c")));
  expect(await complaintOf(several, row("a", "x", "y"))).toContain("request 1 (counted from 0), message 1 (user) is different. ");
});

it("recordTo: ignores a chunk after the reader has stopped", async () => {
  const cassette = memoryCassette();
  const { call, clock } = setUp();
  const recorder = recordTo(cassette, script([wait(50), text("late")]));
  const stream = recorder.stream(request, call)[Symbol.asyncIterator]();
  const waiting = stream.next();
  void stream.return?.();
  await clock.runAll();
  expect(await waiting).toEqual({ done: true, value: undefined });
  expect(linesOf(cassette).slice(2)).toMatchObject([{ type: "left" }]);
});

it("replayFrom: ignores the signal if the recorded stream ignored the signal", async () => {
  const cassette = memoryCassette();
  const read = async (provider: Provider): Promise<unknown> => {
    const { call, abort, clock } = setUp();
    const stream = provider.stream(request, call)[Symbol.asyncIterator]();
    let answer: unknown = "none";
    stream.next().then(
      () => (answer = "an end"),
      () => (answer = "an error"),
    );
    abort.abort("enough");
    await clock.flush();
    void stream.return?.();
    await clock.flush();
    return answer;
  };
  expect(await read(recordTo(cassette, script([stall({ ignoreSignal: true })])))).toBe("none");
  expect(linesOf(cassette).slice(2)).toMatchObject([{ type: "aborted" }, { type: "left", waiting: true }]);
  expect(await read(replayFrom(cassette))).toBe("none");
});
