import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  createLoopControl,
  createLoopEvents,
  createToolRegistry,
  isLoopError,
  type LoopError,
  type LoopOptions,
  type Message,
  runToolLoop,
  streamToolLoop,
} from "turnwright";
import { createMockProvider, createTestClock, stall, text, toolCall } from "turnwright/testing";
import { countListeners } from "./count-listeners.ts";
import { answersOf, never, play, tool } from "./play.ts";

const user = (content: string): Message => ({ role: "user", content });
const asks = (...ids: readonly string[]): Message => ({ role: "assistant", content: ids.map((callId) => ({ type: "tool-call", callId, name: "t", args: {} })) });
const answers = (...ids: readonly string[]): Message => ({ role: "tool", results: ids.map((callId) => ({ callId, name: "t", outcome: "completed", result: callId })) });

/** Runs with options of any kind on top of good ones; what is thrown, and that nothing was asked or kept. */
async function refusal(bad: object): Promise<Pick<LoopError, "code" | "details" | "message">> {
  const listeners = countListeners();
  const { signal } = new AbortController();
  const good = { provider: createMockProvider([text("Hi.")]), messages: [user("Go.")], control: createLoopControl(), runId: "refused", signal, clock: createTestClock() };
  const options = { ...good, ...bad } as LoopOptions;
  const thrown: unknown = await runToolLoop(options).catch((error: unknown) => error);
  expect(() => streamToolLoop(options)).toThrow();
  expect([good.provider.calls, good.clock.pending, listeners.on(signal)], "requests, timers, listeners").toEqual([0, 0, 0]);
  listeners.stop();
  // The control and the id are free: another run takes both.
  expect((await runToolLoop(good)).text).toBe("Hi.");
  if (!isLoopError(thrown)) throw thrown;
  return thrown;
}

describe("an option", () => {
  const limits = ["maxIterations", "softWarnIteration", "maxConsecutiveToolErrors", "maxRestarts", "maxPauses", "toolConcurrency", "maxToolCalls", "maxTokens", "wallClockMs"];
  const timeouts = ["streamIdleMs", "firstChunkMs", "toolMs", "settleMs", "approvalMs", "hookMs"];
  const mayBeZero = ["softWarnIteration", "maxRestarts", "maxPauses", "settleMs"];
  const isTimed = (name: string): boolean => name.endsWith("Ms");
  const numbers = [...limits.map((name) => ["limits", name] as const), ...timeouts.map((name) => ["timeouts", name] as const)];

  it.for(numbers)("%s.%s is a whole number in range, or Infinity", async ([group, name]) => {
    const bad: unknown[] = [Number.NaN, -1, 1.5, "5", null, true, [], 5n, Number.NEGATIVE_INFINITY];
    if (!mayBeZero.includes(name)) bad.push(0);
    bad.push(isTimed(name) ? 2 ** 31 : 2 ** 53);
    for (const value of bad) {
      expect(await refusal({ [group]: { [name]: value } })).toMatchObject({ code: "invalid-option", details: { option: `${group}.${name}` } });
    }
    const good: unknown[] = [1, Number.POSITIVE_INFINITY, undefined];
    if (mayBeZero.includes(name)) good.push(0);
    good.push(isTimed(name) ? 2 ** 31 - 1 : 2 ** 53 - 1);
    for (const value of good) {
      const { result } = play([text("Hi.")], { [group]: { [name]: value } });
      expect((await result).text).toBe("Hi.");
    }
  });

  it.for<[option: string, values: readonly unknown[]]>([
    ["provider", [undefined, null, "openai", {}, { id: "a", model: "b" }, { id: 1, model: "b", stream: () => [] }]],
    ["messages", [undefined, null, [], {}, "Go."]],
    ["tools", ["search", 7, {}, { definitions: () => [] }]],
    ["system", [7, ["Be brief."], null]],
    ["modelSettings", [7, [], null]],
    ["toolChoice", ["never", {}, { name: 7 }, 7]],
    ["contextItems", ["It is night.", {}, [7n], [undefined], [() => 1]]],
    ["repair", ["yes", 1, null]],
    ["limits", [7, [], null]],
    ["timeouts", [7, [], null]],
    ["pricing", [0.01, {}]],
    ["policies", [7, [], null]],
    ["policies.gate", [true, {}, { active: "yes" }, { active: true, allowedNames: 5 }, { active: true, allowedNames: "search" }, { active: true, allowedNames: {} }]],
    ["policies.approve", [true, {}]],
    ["policies.restarts", [7, null, []]],
    ["policies.restarts.effects", [7, { x: "search" }]],
    ["policies.finalAnswer", ["yes", 1]],
    ["hooks", [7, [], null, () => 1]],
    ["hooks.preparePass", [true, {}]],
    ["hooks.onIteration", [true, {}]],
    ["control", [{}, true, { stop: () => 1, kill: () => 1 }]],
    ["signal", [{}, new AbortController()]],
    ["events", [{}, { on: () => 1 }, new EventTarget()]],
    ["journal", [{}, [], { step: () => 1 }]],
    ["runId", ["", 7, null]],
    ["resume", ["yes", true]],
    ["clock", [{}, Date]],
    ["session", [7, [], "me"]],
  ])("%s is refused where it is of another kind", async ([option, values]) => {
    const path = option.split(".");
    for (const value of values) {
      const bad = path.reduceRight<unknown>((inner, key) => ({ [key]: inner }), value);
      const { code, details, message } = await refusal(Object(bad));
      expect([code, details], `value ${values.indexOf(value)}`).toEqual(["invalid-option", expect.objectContaining({ option })]);
      expect(message).toContain(`"${option}"`);
    }
  });

  it.for<[bad: object, option: string, nearest: string | undefined]>([
    [{ tool: [] }, "tool", "tools"],
    [{ maxIterations: 5 }, "maxIterations", undefined],
    [{ limits: { maxIteration: 5 } }, "limits.maxIteration", "maxIterations"],
    [{ timeouts: { streamIdle: 5 } }, "timeouts.streamIdle", "streamIdleMs"],
    [{ policies: { aprove: () => 1 } }, "policies.aprove", "approve"],
    [{ policies: { restarts: { effect: {} } } }, "policies.restarts.effect", "effects"],
    [{ hooks: { onIteratoin: () => 1 } }, "hooks.onIteratoin", "onIteration"],
    [JSON.parse('{"limits": {"__proto__": 5}}'), "limits.__proto__", undefined],
    [{ limits: { toString: 5 } }, "limits.toString", undefined],
    [{ something: undefined }, "something", undefined],
  ])("that does not exist is refused, with a hint: %j", async ([bad, option, nearest]) => {
    expect(await refusal(bad)).toMatchObject({ code: "unknown-option", details: { option, nearest } });
  });

  it("says what was wanted and what came, and never what a text said", async () => {
    const { message } = await refusal({ limits: { maxIterations: "sk-abc123def456ghi789" } });
    expect(message).toBe('Option "limits.maxIterations" must be a whole number of at least 1, or Infinity, but is a string of 21 characters.');
  });
});

describe("tools", () => {
  const ok = tool("ok", () => 1);
  it.for<[what: string, tools: unknown, code: string]>([
    ["two of one name", [ok, ok], "duplicate-tool"],
    ["one without a name", [{ ...ok, name: "" }], "invalid-tool"],
    ["one of a name with blanks", [{ ...ok, name: "get weather" }], "invalid-tool"],
    ["one that cannot be executed", [{ name: "a", description: "", inputSchema: {} }], "invalid-tool"],
    ["something else", [7], "invalid-tool"],
    ["a mistyped field", [{ ...ok, timeoutMS: 5 }], "invalid-tool"],
    ["a limit of no time", [{ ...ok, timeoutMs: 0 }], "invalid-tool"],
    ["a retry that is not idempotent", [{ ...ok, retry: { maxAttempts: 2 } }], "invalid-tool"],
    ["a schema that cannot be shown", [{ ...ok, inputSchema: z.object({ at: z.date() }) }], "invalid-schema"],
    ["a schema of no object", [{ ...ok, inputSchema: { type: "string" } }], "invalid-schema"],
  ])("are refused with %s", async ([, tools, code]) => {
    expect(await refusal({ tools })).toMatchObject({ code });
  });

  it("may be none, or a registry without any", async () => {
    for (const tools of [undefined, [], createToolRegistry()]) {
      expect((await play([text("Hi.")], { tools }).result).text).toBe("Hi.");
    }
  });
});

describe("messages", () => {
  const bad: readonly (readonly [what: string, messages: readonly unknown[], index: number])[] = [
    ["no message", [user("a"), 7], 1],
    ["nothing", [null], 0],
    ["an unknown role", [{ role: "system", content: "Be brief." }], 0],
    ["a user without content", [{ role: "user" }], 0],
    ["a picture without a type", [{ role: "user", content: [{ type: "image", data: "aGk=" }] }], 0],
    ["a turn that is a text", [user("a"), { role: "assistant", content: "Hi." }], 1],
    ["a call without an id", [user("a"), { role: "assistant", content: [{ type: "tool-call", callId: "", name: "t", args: {} }] }], 1],
    ["results that are none", [user("a"), asks("x"), { role: "tool", results: [{ callId: "x" }] }], 2],
    ["an unanswered call at the end", [user("a"), asks("x")], 1],
    ["an unanswered call in between", [user("a"), asks("x"), user("b")], 1],
    ["an unanswered call before another turn", [user("a"), asks("x"), asks("y"), answers("y")], 1],
    ["one of two calls unanswered", [user("a"), asks("x", "y"), answers("x")], 2],
    ["an orphan result", [user("a"), answers("x")], 1],
    ["a result of another call", [user("a"), asks("x"), answers("y")], 2],
    ["a result too many", [user("a"), asks("x"), answers("x", "y")], 2],
    ["a call that is answered twice", [user("a"), asks("x"), answers("x", "x")], 2],
    ["a call that is answered twice, later", [user("a"), asks("x"), answers("x"), answers("x")], 3],
    ["an id that was used before", [user("a"), asks("x"), answers("x"), asks("x"), answers("x")], 3],
    ["an id that is used twice", [user("a"), asks("x", "x"), answers("x")], 1],
  ];

  it.for(bad)("are refused with the place of %s", async ([, messages, index]) => {
    expect(await refusal({ messages })).toMatchObject({ code: "invalid-messages", details: { index }, message: expect.stringContaining(`Message ${index} `) });
  });

  const outcome = (callId: string): string => `${callId}: not-run`;
  it.for<[what: string, messages: readonly Message[], roles: string, notRun: readonly string[]]>([
    ["an unanswered call at the end", [user("a"), asks("x")], "user assistant tool", [outcome("x")]],
    ["an unanswered call in between", [user("a"), asks("x"), user("b")], "user assistant tool user", [outcome("x")]],
    ["an unanswered call before another turn", [user("a"), asks("x"), asks("y"), answers("y")], "user assistant tool assistant tool", [outcome("x")]],
    ["one of two calls unanswered", [user("a"), asks("x", "y"), answers("y")], "user assistant tool", [outcome("x")]],
    ["an orphan result", [user("a"), answers("x"), user("b")], "user user", []],
    ["a result of another call", [user("a"), asks("x"), answers("y")], "user assistant tool", [outcome("x")]],
    ["a result too many", [user("a"), asks("x"), answers("x", "y")], "user assistant tool", []],
    ["a call that is answered twice", [user("a"), asks("x"), answers("x", "x")], "user assistant tool", []],
    ["nothing wrong", [user("a"), asks("x"), answers("x"), user("b")], "user assistant tool user", []],
  ])("are repaired: %s", async ([, messages, roles, notRun]) => {
    const playing = play([text("Hi.")], { messages, repair: true });
    await playing.result;
    const sent = playing.provider.requests[0]?.messages ?? [];
    expect(sent.map(({ role }) => role).join(" ")).toBe(roles);
    const refused = answersOf({ messages: sent }).filter((part) => part.outcome === "not-run");
    expect(refused.map((part) => `${part.callId}: ${part.outcome}`)).toEqual(notRun);
    // What was repaired can be sent, and an old call is never run.
    expect((await play([text("Again.")], { messages: sent, tools: [tool("t", () => never)] }).result).text).toBe("Again.");
  });

  it.for(bad.slice(0, 8))("are refused all the same where a repair cannot help: %s", async ([, messages, index]) => {
    expect(await refusal({ messages, repair: true })).toMatchObject({ code: "invalid-messages", details: { index } });
  });

  it("stay as the caller gave them", async () => {
    const messages = [user("a"), asks("x"), answers("x"), user("b")];
    const before = structuredClone(messages);
    const result = await play([toolCall("t"), text("Hi.")], { messages, tools: [tool("t", () => 1)] }).result;
    expect([messages, result.messages.slice(0, 4)]).toEqual([before, before]);
  });
});

describe("two live runs", () => {
  it.for(["control", "runId"] as const)("cannot share a %s, until the first has ended", async (what) => {
    const clock = createTestClock();
    const shared = what === "control" ? { control: createLoopControl() } : { runId: "one of a kind" };
    const first = play([stall()], { clock, ...shared });
    const provider = createMockProvider([text("Hi.")]);
    const second = { provider, messages: [user("Go.")], clock, ...shared };
    const thrown: unknown = await runToolLoop(second).catch((error: unknown) => error);
    expect([isLoopError(thrown, "already-running") && thrown.details.what, provider.calls]).toEqual([what, 0]);
    expect(first.endedAt()).toBeUndefined();

    first.abort.abort();
    await first.result;
    expect((await runToolLoop(second)).text).toBe("Hi.");
  });

  it("refuse neither of two things for the sake of the other", async () => {
    const control = createLoopControl();
    const first = play([stall()], { control, runId: "first" });
    const refused = await runToolLoop({ provider: createMockProvider([]), messages: [user("Go.")], control, runId: "second" }).catch((error: unknown) => error);
    expect(isLoopError(refused, "already-running")).toBe(true);
    // The id of the refused run is free.
    expect((await play([text("Hi.")], { runId: "second" }).result).text).toBe("Hi.");
    first.abort.abort();
    await first.result;
  });

  it("may share everything else", async () => {
    const clock = createTestClock();
    const events = createLoopEvents();
    const { signal } = new AbortController();
    const tools = createToolRegistry([tool("t", () => 1)]);
    const runs = Array.from({ length: 5 }, () => play([toolCall("t"), text("Hi.")], { clock, events, signal, tools }).result);
    expect((await Promise.all(runs)).map((result) => result.text)).toEqual(["Hi.", "Hi.", "Hi.", "Hi.", "Hi."]);
  });
});

describe("a control", () => {
  it("queues before its first run, and is finished after each", async () => {
    const control = createLoopControl();
    expect([control.hasStopRequest(), control.isToolChainActive()]).toEqual([false, false]);
    expect([control.stop({ note: "early" }), control.hasStopRequest()]).toEqual(["accepted", true]);
    const first = play([], { control });
    expect((await first.result).reason).toMatchObject({ kind: "stopped", note: "early" });
    expect([control.stop(), control.kill(), control.hasStopRequest()]).toEqual(["finished", "finished", false]);
    // What ended the first run does not leak into the next.
    const second = play([text("Hi.")], { control });
    expect((await second.result).text).toBe("Hi.");
  });

  it("obeys the highest of what was queued", async () => {
    const control = createLoopControl();
    control.stop();
    control.kill();
    expect((await play([], { control }).result).reason.kind).toBe("killed");
  });

  it("says whether tools are being run: from the first call to the end of the run", async () => {
    const seen: boolean[] = [];
    const playing = play([toolCall("look"), [text("Hm."), toolCall("look")], text("Done.")], ({ control }) => ({
      tools: [tool("look", () => seen.push(control.isToolChainActive()))],
      hooks: { preparePass: () => void seen.push(control.isToolChainActive()) },
    }));
    await playing.result;
    expect([seen, playing.control.isToolChainActive()]).toEqual([[false, true, true, true, true], false]);
  });
});
