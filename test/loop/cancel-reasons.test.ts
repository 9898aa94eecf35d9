import { describe, expect, it } from "vitest";
import { approve, type LoopOptions, type ModelChunk, type Provider } from "turnwright";
import { type MockScript, stall, text, toolCall } from "turnwright/testing";
import { never, play, tool, type Playing } from "./play.ts";

/** Errors, strings and arrays must be equal to `said`. Other objects must contain the fields of `said`. */
const like = (said: unknown): unknown =>
  said instanceof Error || typeof said === "string" || Array.isArray(said) ? said : expect.objectContaining(Object(said));

const disconnect = new Error("socket closed", { cause: "tab closed" });
const cyclic: unknown[] = [];
cyclic.push(cyclic);

const verbs: readonly (readonly [verb: string, act: (playing: Playing) => unknown, signal: unknown, reason: unknown])[] = [
  [
    "control.stop()",
    ({ control }) => control.stop({ requester: "Ada" }),
    { name: "AbortError", message: "The run was stopped." },
    { kind: "stopped", requester: "Ada" },
  ],
  ["control.kill()", ({ control }) => control.kill(), { name: "AbortError", message: "The run was killed." }, { kind: "killed" }],
  [
    "an abort with an error",
    ({ abort }) => abort.abort(disconnect),
    disconnect,
    { kind: "aborted", reason: { name: "Error", message: "socket closed", cause: { message: "tab closed" } } },
  ],
  [
    "an abort with a string",
    ({ abort }) => abort.abort("user cancel"),
    "user cancel",
    { kind: "aborted", reason: "user cancel" },
  ],
  ["an abort with an object", ({ abort }) => abort.abort({ code: 7 }), { code: 7 }, { kind: "aborted", reason: { code: 7 } }],
  [
    "an abort without a reason",
    ({ abort }) => abort.abort(),
    { name: "AbortError" },
    { kind: "aborted", reason: { name: "AbortError" } },
  ],
  [
    "an abort with a cyclic value",
    ({ abort }) => abort.abort(cyclic),
    cyclic,
    { kind: "aborted", reason: { message: "a cyclic value, or more than 1,000 levels" } },
  ],
  [
    "an abort with a TimeoutError",
    ({ abort }) => abort.abort(new DOMException("too slow", "TimeoutError")),
    { name: "TimeoutError", message: "too slow" },
    { kind: "aborted", reason: { name: "TimeoutError", message: "too slow" } },
  ],
  [
    "limits.wallClockMs",
    () => {},
    { name: "TimeoutError", message: "The run took longer than 500 ms." },
    { kind: "wall-clock", limitMs: 500 },
  ],
];

async function endedBy(act: (playing: Playing) => unknown, script: MockScript, options: Partial<LoopOptions>): Promise<Playing> {
  const limits = act === verbs.at(-1)?.[1] ? { wallClockMs: 500 } : {};
  const playing = play(script, { ...options, limits, timeouts: { toolCleanupMs: 0 } });
  await playing.clock.advance(500);
  act(playing);
  return playing;
}

describe("the cancel reason", () => {
  it.for(verbs)("reaches tools, providers, approvals and the result after %s", async ([, act, said, reason]) => {
    let signal: AbortSignal | undefined;
    const keep = (held: { readonly signal: AbortSignal }): Promise<never> => ((signal = held.signal), never);
    const called = [toolCall("work")];
    const listening: Provider = {
      id: "p",
      model: "m",
      async *stream(_, call): AsyncIterable<ModelChunk> {
        yield await keep(call);
      },
    };

    const inTool = await endedBy(act, [called], { tools: [tool("work", (_, context) => keep(context))] });
    expect((await inTool.result).reason).toMatchObject(Object(reason));
    expect(signal?.reason, "tool").toEqual(like(said));

    const inStream = await endedBy(act, [], { provider: listening });
    expect((await inStream.result).reason).toMatchObject(Object(reason));
    expect(signal?.reason, "provider").toEqual(like(said));

    const policy = (_: unknown, context: { readonly signal: AbortSignal }): Promise<never> => keep(context);
    const inApproval = await endedBy(act, [called], { tools: [tool("work", () => 1)], middleware: [approve(policy)] });
    expect((await inApproval.result).reason).toMatchObject(Object(reason));
    expect(signal?.reason, "approval").toEqual(like(said));
  });

  it("is the object that the caller passed to abort()", async () => {
    let signal: AbortSignal | undefined;
    const work = tool("work", (_, context) => ((signal = context.signal), never));
    const playing = play([toolCall("work")], { tools: [work] });
    await playing.clock.flush();
    playing.abort.abort(disconnect);
    await playing.result;
    expect(signal?.reason).toBe(disconnect);
  });

  it("is a TimeoutError if the model is silent for too long", async () => {
    let signal: AbortSignal | undefined;
    const provider: Provider = {
      id: "p",
      model: "m",
      stream: (_, call) => ({ [Symbol.asyncIterator]: () => ((signal = call.signal), { next: () => never }) }),
    };
    const playing = play([], { provider });
    await playing.clock.runAll();
    expect([(await playing.result).status, signal?.reason.name]).toEqual(["timeout", "TimeoutError"]);
    expect(signal?.reason.message).toBe("The model sent nothing for 300000 ms.");
  });

  it("is the first reason, unless a kill or an abort follows a stop", async () => {
    const end = async (...acts: readonly ((playing: Playing) => unknown)[]): Promise<unknown> => {
      const playing = play([[text("Hm."), toolCall("work")]], { tools: [tool("work", () => never)] });
      await playing.clock.flush();
      for (const act of acts) act(playing);
      await playing.clock.advance(5_000);
      return (await playing.result).reason;
    };
    const stop =
      (note: string) =>
      ({ control }: Playing) =>
        control.stop({ note });
    const kill = ({ control }: Playing): unknown => control.kill();
    const abort = ({ abort: controller }: Playing): void => controller.abort("gone");
    expect(await end(stop("first"), stop("second"))).toMatchObject({ kind: "stopped", note: "first" });
    expect(await end(stop("first"), kill)).toEqual({ kind: "killed" });
    expect(await end(stop("first"), abort)).toEqual({ kind: "aborted", reason: "gone" });
    expect(await end(kill, abort, stop("late"))).toEqual({ kind: "killed" });
    expect(await end(abort, kill)).toEqual({ kind: "aborted", reason: "gone" });
  });

  it.for<[verb: string, act: (playing: Playing) => unknown, kind: string]>([
    ["control.stop()", ({ control }) => control.stop(), "stopped"],
    ["control.kill()", ({ control }) => control.kill(), "killed"],
    ["abort()", ({ abort }) => abort.abort(), "aborted"],
  ])("replaces the end reason of an answer if a listener for iteration-end calls %s", async ([, act, kind]) => {
    const playing = play([text("Hello.")]);
    playing.recording.emitter.on("iteration-end", () => void act(playing));
    const result = await playing.result;
    expect([result.reason.kind, result.text, result.messages.length]).toEqual([kind, "Hello.", 2]);
  });

  it("keeps a timeout's reason if a listener for iteration-end calls control.stop()", async () => {
    const playing = play([stall()]);
    playing.recording.emitter.on("iteration-end", () => void playing.control.stop());
    await playing.clock.runAll();
    expect((await playing.result).reason.kind).toBe("first-chunk");
  });
});
