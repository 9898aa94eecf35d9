import { describe, expect, it } from "vitest";
import { approve, defineAgentTool, type LoopOptions, type Tool } from "turnwright";
import { createRunHost } from "turnwright/host";
import { createMockProvider, createTestClock, text, toolCall } from "turnwright/testing";
import {
  crashing,
  createStage,
  cutOff,
  eventsOf,
  readAll,
  readStart,
  sharedStore,
  type Stage,
  textOf,
  tool,
  typesOf,
} from "./stage.ts";

const middleware = [approve(() => ({ kind: "ask" as const }))];

function paying({ clock }: Pick<Stage, "clock">): Pick<LoopOptions, "provider" | "tools" | "middleware" | "clock"> & {
  readonly paid: string[];
} {
  const paid: string[] = [];
  const pay: Tool = tool("pay", (_, { callId }) => `paid ${paid.push(callId)}`);
  const provider = createMockProvider(({ iteration }) =>
    iteration === 0 ? [text("One moment. "), toolCall("pay", { n: 1 }), toolCall("pay", { n: 2 })] : [text("Done.")],
  );
  return { provider, tools: [pay], middleware, clock, paid };
}

const options = (given: ReturnType<typeof paying>): Omit<ReturnType<typeof paying>, "paid"> => {
  const { paid: _, ...rest } = given;
  return rest;
};

const yes = { kind: "approve" as const };

describe("host.resume() in the same process", () => {
  it("continues the same log for earlier and later readers", async () => {
    const stage = createStage();
    const { host, id } = stage;
    const pay = paying(stage);
    await readStart(host.start(id, { ...options(pay), message: "Pay." }));
    const seen = await readAll(host.join(id));
    expect(seen.at(-1)?.event).toMatchObject({ type: "run-end", status: "suspended" });
    const { reason } = (await host.status(id)) ?? {};
    expect(reason).toMatchObject({ kind: "approval-required", calls: [{ id: "call_i0_0" }, { id: "call_i0_1" }] });

    const answer = await host.resume(id, { ...options(pay), answers: { call_i0_0: yes, call_i0_1: { kind: "deny" } } });
    expect(answer).toMatchObject({ kind: "started", runId: `${id}/1` });
    const from = seen.at(-1)?.id;
    const rest = await readAll(host.join(id, { from }));
    expect(typesOf(rest)).toEqual([
      "run-start",
      "approval-decided",
      "approval-decided",
      "tool-end",
      "tool-start",
      "tool-end",
      "iteration-start",
      "iteration-end",
      "run-end",
    ]);
    expect(host.join(id, { from })?.restarted).toBe(false);
    const all = await readAll(host.join(id));
    expect(all.map((item) => item.id)).toEqual([...seen, ...rest].map((item) => item.id));
    expect([textOf(all), pay.paid]).toEqual(["One moment. Done.", ["call_i0_0"]]);
    expect(host.join(id, { from: all.at(-1)?.id })?.isOver).toBe(true);
  });

  it("marks earlier events as replayed in answer.join(), but not in host.join()", async () => {
    const stage = createStage();
    const { host, id } = stage;
    const pay = paying(stage);
    await readStart(host.start(id, { ...options(pay), message: "Pay." }));
    const seen = await readAll(host.join(id));
    const answer = await host.resume(id, { ...options(pay), answers: { call_i0_0: yes, call_i0_1: yes } });
    const all = await readAll(answer.kind === "started" ? answer.join() : undefined);
    const marked = all.map(({ event }) => event.replayed === true);
    const isUnmarked = ({ event: { type } }: (typeof all)[number]) => type === "run-start" || type === "run-end";
    expect(marked).toEqual(all.map((item, index) => index < seen.length && !isUnmarked(item)));
    expect(marked).toContain(true);
    expect(textOf(all)).toBe("One moment. Done.");
    expect((await readAll(host.join(id))).some(({ event }) => event.replayed === true)).toBe(false);
  });

  it("sends none of the resumed run's events to a reader that joined before the suspension", async () => {
    const stage = createStage();
    const { host, id } = stage;
    const pay = paying(stage);
    await host.start(id, { ...options(pay), message: "Pay." });
    const slow = host.join(id);
    await stage.clock.flush();
    await host.resume(id, { ...options(pay), answers: { call_i0_0: yes, call_i0_1: yes } });
    const items = await readAll(slow);
    expect(items.at(-1)?.event).toMatchObject({ type: "run-end", status: "suspended" });
    expect(typesOf(await readAll(host.join(id))).filter((type) => type === "run-end")).toHaveLength(2);
  });

  it("rejects a decision for a call that is not waiting", async () => {
    const stage = createStage();
    const { host, id } = stage;
    const pay = paying(stage);
    await readStart(host.start(id, { ...options(pay), message: "Pay." }));
    const before = [await host.status(id), await readAll(host.join(id))];
    for (const name of ["call_i0_2", "__proto__", "toString", "call_i0_0/x", ""]) {
      const answers = Object.fromEntries([["call_i0_0", yes] as const, [name, yes] as const]);
      const resuming = host.resume(id, { ...options(pay), answers });
      await expect(resuming).rejects.toMatchObject({ code: "unknown-decision", details: { call: name } });
    }
    expect([await host.status(id), await readAll(host.join(id)), pay.paid]).toEqual([...before, []]);
    await host.resume(id, { ...options(pay), answers: { call_i0_0: yes, call_i0_1: yes } });
    await readAll(host.join(id));
    expect(pay.paid).toHaveLength(2);
  });

  it("leaves the conversation unchanged if a changed tool prevents the resume", async () => {
    const stage = createStage();
    const { host, id } = stage;
    const pay = paying(stage);
    await readStart(host.start(id, { ...options(pay), message: "Pay." }));
    const before = [await host.status(id), await readAll(host.join(id))];
    const answers = { call_i0_0: yes, call_i0_1: yes };
    await expect(host.resume(id, { ...options(pay), tools: [], answers })).rejects.toMatchObject({ code: "tools-changed" });
    expect([await host.status(id), await readAll(host.join(id))]).toEqual(before);
    await readStart(host.resume(id, { ...options(pay), answers }) as ReturnType<typeof host.start>);
    expect(pay.paid).toHaveLength(2);
  });

  it("applies a decision that is sent several times only once", async () => {
    const stage = createStage();
    const { host, id } = stage;
    const pay = paying(stage);
    await readStart(host.start(id, { ...options(pay), message: "Pay." }));
    const answers = { call_i0_0: yes, call_i0_1: yes };
    const outcomes = await Promise.all([1, 2, 3].map(async () => host.resume(id, { ...options(pay), answers })));
    expect(outcomes.map(({ kind }) => kind)).toEqual(["started", "busy", "busy"]);
    await readAll(host.join(id));
    expect(await host.resume(id, { ...options(pay), answers })).toEqual({ kind: "not-resumable", status: "completed" });
    expect(pay.paid).toEqual(["call_i0_0", "call_i0_1"]);
  });

  it('returns "not-resumable" after a new message with whenSuspended: "deny"', async () => {
    const stage = createStage();
    const { host, id } = stage;
    const pay = paying(stage);
    await readStart(host.start(id, { ...options(pay), message: "Pay." }));
    const provider = createMockProvider([text("As you like.")]);
    await readStart(host.start(id, { ...options(pay), provider, message: "Forget it.", whenSuspended: "deny" }));
    const sent = provider.requests[0]?.messages ?? [];
    expect(sent.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "user"]);
    expect(sent.flatMap((one) => (one.role === "tool" ? one.results.map(({ outcome }) => outcome) : []))).toEqual([
      "denied",
      "denied",
    ]);
    expect([await host.resume(id, options(pay)), pay.paid]).toEqual([{ kind: "not-resumable", status: "completed" }, []]);
  });

  it("emits a replayed nested run's events once", async () => {
    const stage = createStage();
    const { host, id } = stage;
    const inner = createMockProvider(() => text("Inner."));
    const agent = defineAgentTool({
      name: "ask",
      description: "ask",
      inputSchema: { type: "object" },
      prepare: () => ({ provider: inner, messages: [{ role: "user", content: "Inside." }] }),
      toResult: (result) => result.text,
    });
    const pay = paying(stage);
    const provider = createMockProvider(({ iteration }) => [[toolCall("ask")], [toolCall("pay")], [text("Done.")]][iteration]);
    const policy = ({ name }: { readonly name: string }) => ({ kind: name === "ask" ? ("approve" as const) : ("ask" as const) });
    const given = { ...options(pay), provider, tools: [agent, ...(pay.tools as readonly Tool[])], middleware: [approve(policy)] };
    await readStart(host.start(id, { ...given, message: "Ask and pay." }));
    await host.resume(id, { ...given, answers: { call_i1_0: yes } });
    const events = eventsOf(await readAll(host.join(id)));
    const nested = events.filter(({ path }) => path !== undefined).map(({ type }) => type);
    expect(nested).toEqual(["run-start", "iteration-start", "text-delta", "iteration-end", "run-end"]);
    expect(events.filter(({ type, path }) => type === "run-start" && path === undefined)).toHaveLength(2);
    expect(events.filter(({ replayed }) => replayed === true)).toEqual([]);
  });

  it("rejects if the conversation has no run to continue", async () => {
    const stage = createStage();
    const { host, id } = stage;
    expect(await host.resume(id, options(paying(stage)))).toEqual({ kind: "not-resumable", status: undefined });
    const misuse = host.resume(id, { ...options(paying(stage)), messages: [] } as never);
    await expect(misuse).rejects.toMatchObject({ code: "invalid-option" });
  });
});

describe("a run host in another process", () => {
  it("continues a suspended run from the store", async () => {
    const store = sharedStore();
    const first = createStage({ store });
    const pay = paying(first);
    await readStart(first.host.start(first.id, { ...options(pay), message: "Pay." }));
    const seen = await readAll(first.host.join(first.id));
    const second = createRunHost({ store, clock: first.clock });
    expect(second.join(first.id)).toBeUndefined();
    await second.resume(first.id, { ...options(pay), answers: { call_i0_0: yes, call_i0_1: yes } });
    const joined = second.join(first.id, { from: seen.at(-1)?.id });
    expect(joined?.restarted).toBe(true);
    const items = await readAll(joined);
    await second.status(first.id);
    expect([textOf(items), pay.paid.length]).toEqual(["One moment. Done.", 2]);
    expect(eventsOf(items).filter(({ type }) => type === "replay-end")).toHaveLength(1);
    // The second host resumed the run in its own log, so the first host does not see the end of the run.
    expect(first.host.join(first.id)?.isOver).toBe(false);
    expect(await first.host.status(first.id)).toMatchObject({ status: "completed" });
  });

  it("continues a run after a crash at any record without repeating a call", async () => {
    for (let crashAt = 1; ; crashAt += 1) {
      const store = sharedStore();
      const clock = createTestClock();
      const id = `cut ${crashAt}`;
      const pay = { ...paying({ clock }), middleware: [] };
      const dying = createRunHost({ store: crashing(store, crashAt), clock });
      const answer = await dying.start(id, { ...options(pay), message: "Pay." }).catch(() => undefined);
      const end = answer?.kind === "started" ? await answer.result.catch(() => undefined) : undefined;
      if (end !== undefined) break;
      const next = createRunHost({ store, clock });
      const resumed = await next.resume(id, options(pay));
      expect(resumed).toMatchObject({ kind: "started", runId: `${id}/1` });
      expect(textOf(await readAll(next.join(id)))).toBe("One moment. Done.");
      expect(await next.status(id)).toMatchObject({ status: "completed", runId: `${id}/1` });
      expect(pay.paid.length).toBeGreaterThanOrEqual(2);
      expect(crashAt).toBeLessThan(50);
    }
  });

  it("reads a run's end from the journal if the store lacks it", async () => {
    const store = sharedStore();
    const clock = createTestClock();
    const id = "ended and cut";
    const dying = createRunHost({ store, clock });
    await readStart(dying.start(id, { ...options(paying({ clock })), message: "Pay." }));
    await cutOff(store, id);
    const next = createRunHost({ store, clock });
    const { status, reason, isLive } = (await next.status(id)) ?? {};
    expect([status, reason?.kind, isLive]).toEqual(["suspended", "approval-required", false]);
  });

  it("keeps a crashed run's messages for the next run", async () => {
    const store = sharedStore();
    const clock = createTestClock();
    const id = "cut and told";
    const pay = { ...paying({ clock }), middleware: [] };
    const dying = createRunHost({ store: crashing(store, 4), clock });
    const answer = await dying.start(id, { ...options(pay), message: "Pay." });
    if (answer.kind === "started") await answer.result.catch(() => undefined);
    const provider = createMockProvider([text("Where were we?")]);
    const next = createRunHost({ store, clock });
    expect(await next.status(id)).toMatchObject({ status: "running", isLive: false });
    expect(await next.start(id, { ...options(pay), provider, message: "Hello?" })).toMatchObject({ runId: `${id}/2` });
    await readAll(next.join(id));
    expect(provider.requests[0]?.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "user"]);
  });
});

describe("a reader of a hosted run whose journal or store fails", () => {
  it("receives the earlier events, and then the error", async () => {
    const store = sharedStore();
    const clock = createTestClock();
    const id = "broken";
    const pay = { ...paying({ clock }), middleware: [] };
    const host = createRunHost({ store: crashing(store, 4), clock });
    await host.start(id, { ...options(pay), message: "Pay." });
    const seen: string[] = [];
    const reading = (async () => {
      for await (const { event } of host.join(id) ?? []) seen.push(event.type);
    })();
    await expect(reading).rejects.toThrow("The store is gone.");
    expect(seen).toContain("tool-start");
  });
});
