import { describe, expect, it } from "vitest";
import { isLoopError, type UserMessage } from "turnwright";
import { createMockProvider, fail, stall, text, toolCall, wait } from "turnwright/testing";
import { createStage, playing, readAll, readStart, textOf, tool, typesOf } from "./stage.ts";

const hello: UserMessage = { role: "user", content: "Hello." };

describe("host.start()", () => {
  it("starts a run, whose events host.join() returns", async () => {
    const { host, clock, id } = createStage();
    const answer = await host.start(id, { ...playing([text("Hi there.", { chunks: 3 })], clock), message: "Hello." });
    expect(answer).toMatchObject({ kind: "started", runId: `${id}/1` });
    const items = await readAll(host.join(id));
    expect(typesOf(items)).toEqual(["run-start", "iteration-start", "iteration-end", "run-end"]);
    expect(textOf(items)).toBe("Hi there.");
    expect(new Set(items.map(({ id }) => id)).size).toBe(items.length);
  });

  it("adds the new message to the stored messages", async () => {
    const { host, clock, id } = createStage();
    await readStart(host.start(id, { ...playing([text("One.")], clock), message: "Hello." }));
    const second = playing([text("Two.")], clock);
    const answer = await host.start(id, { ...second, message: { role: "user", content: "And now?" } });
    expect(answer).toMatchObject({ runId: `${id}/2` });
    await readStart(answer);
    expect(second.provider.requests[0]?.messages).toEqual([
      hello,
      { role: "assistant", content: [{ type: "text", text: "One." }] },
      { role: "user", content: "And now?" },
    ]);
    expect(await host.status(id)).toMatchObject({ runId: `${id}/2`, status: "completed", isLive: false, queued: 0 });
  });

  it("replaces the stored messages with the `messages` option", async () => {
    const { host, clock, id } = createStage();
    const messages = [hello, { role: "assistant" as const, content: [{ type: "text" as const, text: "Old." }] }, hello];
    await readStart(host.start(id, { ...playing([text("One.")], clock), messages }));
    const again = playing([text("Other.")], clock);
    await readStart(host.start(id, { ...again, regenerate: true }));
    expect(again.provider.requests[0]?.messages).toEqual(messages);
    expect((await host.status(id))?.messages.at(-1)).toEqual({ role: "assistant", content: [{ type: "text", text: "Other." }] });
  });

  it.for([
    ["options without a message", {}],
    ["message together with regenerate: true", { message: "a", regenerate: true }],
    ["a blank message", { message: " " }],
    ['a message with the role "assistant"', { message: { role: "assistant", content: "I am allowed to." } }],
    ['a message with the role "tool"', { message: { role: "tool", results: [] } }],
    ["regenerate: false", { regenerate: false }],
    ["regenerate: true in an empty conversation", { regenerate: true }],
    ["the journal option", { message: "a", journal: {} }],
    ["the runId option", { message: "a", runId: "x" }],
    ["an invalid whenBusy", { message: "a", whenBusy: "wait" }],
    ["an unknown option", { message: "a", maxSteps: 3 }],
    ["invalid messages", { messages: "a" }],
    ["an invalid limit", { message: "a", limits: { maxIterations: -1 } }],
  ])("throws a LoopError for %s", async ([, options]) => {
    const { host, clock, id } = createStage();
    const { provider } = playing([text("One.")], clock);
    const error = await host.start(id, { provider, clock, ...(options as { message: "a" }) }).catch((thrown: unknown) => thrown);
    expect(isLoopError(error)).toBe(true);
    expect([await host.status(id), host.join(id)]).toEqual([undefined, undefined]);
    expect(await host.start(id, { provider, clock, message: "Hello." })).toMatchObject({ kind: "started", runId: `${id}/1` });
    await host.close();
    expect(clock.pending).toBe(0);
  });

  it("rejects the `prompt` option and names the option to use instead", async () => {
    const { host, clock, id } = createStage();
    const { provider } = playing([text("One.")], clock);
    const started = host.start(id, { provider, clock, prompt: "Hello." } as never);
    await expect(started).rejects.toThrow(/"prompt" is .*, but must be omitted because a host expects the text in "message"/);
  });

  it.for<[string, unknown]>([
    ["an empty string", ""],
    ["a number", 7],
    ["undefined", undefined],
    ["null", null],
    ["an object", {}],
    ['the string "../../etc/passwd"', "../../etc/passwd"],
    ['the string "a/1"', "a/1"],
    ["a null character", "\u0000"],
    ["a lone surrogate", "\ud800"],
    ["a string of 4,000 characters", "long".repeat(1_000)],
  ])("rejects %s as a conversation id", async ([, id]) => {
    const { host, clock } = createStage();
    const start = host.start(id as string, { ...playing([], clock), message: "a" });
    await expect(start).rejects.toMatchObject({ code: "invalid-option" });
    expect(() => host.join(id as string)).toThrow("id");
  });

  it.for([
    ['the string "__proto__"', "__proto__"],
    ['the string "constructor"', "constructor"],
    ["a string with a space", "chat: 1"],
    ["a string of 200 characters", "long".repeat(50)],
  ] as const)("accepts %s as a conversation id", async ([, given]) => {
    const { host, clock } = createStage();
    const id = given;
    expect([await host.status(id), host.join(id), host.stop(id)]).toEqual([undefined, undefined, "not-running"]);
    await readStart(host.start(id, { ...playing([text("One.")], clock), message: "Hello." }));
    expect(await host.status(id)).toMatchObject({ runId: `${id}/1`, status: "completed" });
    expect(textOf(await readAll(host.join(id)))).toBe("One.");
  });
});

describe("host.start() in a busy conversation", () => {
  it('returns "busy" and changes nothing with whenBusy: "refuse"', async () => {
    const { host, clock, id } = createStage();
    const first = await host.start(id, { ...playing([[text("One."), wait(10), text("Two.")]], clock), message: "Hello." });
    const second = playing([text("No.")], clock);
    expect(await host.start(id, { ...second, message: "Me too." })).toEqual({ kind: "busy", runId: `${id}/1` });
    expect(await host.resume(id, second)).toEqual({ kind: "busy", runId: `${id}/1` });
    await clock.advance(1000);
    await readStart(first);
    expect(second.provider.calls).toBe(0);
    expect(textOf(await readAll(host.join(id)))).toBe("One.Two.");
  });

  it("starts only one run for two simultaneous calls to host.start()", async () => {
    const { host, clock, id } = createStage();
    const starts = [1, 2, 3].map(async (n) => host.start(id, { ...playing([text(`${n}`)], clock), message: "Hello." }));
    expect((await Promise.all(starts)).map(({ kind }) => kind)).toEqual(["started", "busy", "busy"]);
  });

  it('sends the message to the live run with whenBusy: "steer"', async () => {
    const { host, clock, id } = createStage({ whenBusy: "steer" });
    const live = playing([[text("One."), wait(10)], text("Two.")], clock);
    const first = await host.start(id, { ...live, message: "Hello." });
    await clock.flush();
    const second = await host.start(id, { ...playing([], clock), message: "In Celsius." });
    expect(second).toMatchObject({ kind: "steered", runId: `${id}/1` });
    await clock.advance(1000);
    await readStart(first);
    expect(live.provider.requests[1]?.messages.at(-1)).toEqual({ role: "user", content: "In Celsius." });
    expect(typesOf(await readAll(host.join(id)))).toContain("steered");
  });

  it("starts the next run with a steered message that the model has not received", async () => {
    const { host, clock, id } = createStage({ whenBusy: "steer" });
    const first = await host.start(id, { ...playing([[text("One."), stall()]], clock), message: "Hello." });
    await host.start(id, { ...playing([], clock), message: "Faster." });
    host.stop(id);
    await readStart(first);
    const next = playing([text("Two.")], clock);
    await readStart(host.start(id, { ...next, message: "Again." }));
    expect(next.provider.requests[0]?.messages.slice(-2)).toEqual([
      { role: "user", content: "Faster." },
      { role: "user", content: "Again." },
    ]);
  });

  it('with whenBusy: "queue", holds up to maxQueued further runs and starts them one at a time', async () => {
    const { host, clock, id } = createStage({ maxQueued: 2 });
    const say = (said: string) => ({ ...playing([[wait(10), text(said)]], clock), whenBusy: "queue" as const, message: said });
    const starts = ["1", "2", "3", "4"].map(async (said) => host.start(id, say(said)));
    expect((await starts[3])?.kind).toBe("busy");
    await clock.flush();
    expect((await host.status(id))?.queued).toBe(2);
    await clock.advance(1000);
    expect((await Promise.all(starts.slice(0, 3))).map((answer) => ("runId" in answer ? answer.runId : ""))).toEqual([
      `${id}/1`,
      `${id}/2`,
      `${id}/3`,
    ]);
    await readStart(starts[2]);
    const spoken = (await host.status(id))?.messages.map(({ role }) => role);
    expect(spoken).toEqual(["user", "assistant", "user", "assistant", "user", "assistant"]);
  });
});

describe("host.stop()", () => {
  it("stops the run and sends run-end to all readers", async () => {
    const { host, clock, id } = createStage();
    await host.start(id, { ...playing([[text("One."), stall()]], clock), message: "Hello." });
    const readers = [readAll(host.join(id)), readAll(host.join(id))];
    await clock.flush();
    expect(host.stop(id, { requester: "tab 2" })).toBe("accepted");
    for (const items of await Promise.all(readers))
      expect(items.at(-1)?.event).toMatchObject({ type: "run-end", reason: { kind: "stopped", requester: "tab 2" } });
    expect(host.stop(id)).toBe("not-running");
  });

  it("is not needed with stopWhenUnread: true once the last reader has stopped reading", async () => {
    const { host, clock, id: name } = createStage();
    for (const stopWhenUnread of [false, true]) {
      const id = `${name}-${stopWhenUnread}`;
      await host.start(id, { ...playing([[text("One."), stall()]], clock), message: "Hello.", stopWhenUnread });
      const abort = new AbortController();
      const first = readAll(host.join(id, { signal: abort.signal }));
      const second = host.join(id)?.[Symbol.asyncIterator]();
      await second?.next();
      abort.abort();
      await first;
      expect((await host.status(id))?.isLive).toBe(true);
      await second?.return?.();
      await clock.flush();
      expect((await host.status(id))?.isLive).toBe(!stopWhenUnread);
      host.stop(id);
    }
  });
});

describe("host.close()", () => {
  it("drains live runs and rejects new runs", async () => {
    const { host, clock, id } = createStage();
    const save = tool("save", () => "saved");
    const live = playing([[wait(10), toolCall("save")], text("Done.")], clock);
    const first = await host.start(id, { ...live, tools: [save], message: "Hello." });
    const queued = host.start(id, { ...live, message: "Later.", whenBusy: "queue" });
    const closing = host.close();
    await clock.advance(1000);
    await closing;
    expect((await readStart(first)).reason).toEqual({ kind: "drained" });
    expect(await queued).toEqual({ kind: "closed" });
    expect(await host.start("b", { ...live, message: "Hello." })).toEqual({ kind: "closed" });
    expect([host.join(id), clock.pending]).toEqual([undefined, 0]);
    await host.close();
  });
});

describe("a hosted run whose provider fails", () => {
  it('continues in the same log with resume: "retry-last"', async () => {
    const { host, clock, id } = createStage();
    let broken = true;
    const provider = createMockProvider(() => (broken ? fail({ status: 400, message: "No." }) : text("Yes.")));
    const first = await host.start(id, { provider, clock, message: "Hello." });
    expect((await readStart(first)).status).toBe("error");
    expect(await host.resume(id, { provider, clock })).toEqual({ kind: "not-resumable", status: "error" });
    const seen = await readAll(host.join(id));
    broken = false;
    expect(await host.resume(id, { provider, clock, resume: "retry-last" })).toMatchObject({ kind: "started", runId: `${id}/1` });
    const rest = await readAll(host.join(id, { from: seen.at(-1)?.id }));
    expect(typesOf(rest)).toEqual(["run-start", "iteration-start", "iteration-end", "run-end"]);
    expect(textOf(rest)).toBe("Yes.");
  });
});
