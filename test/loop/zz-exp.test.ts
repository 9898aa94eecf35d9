import { expect, it } from "vitest";
import { createLoopControl, memoryJournal, runToolLoop, streamToolLoop, toolResult, createLoopEvents, isLoopError, type Journal } from "turnwright";
import { createMockProvider, createTestClock, finish, stall, text, toolCall, usage, wait, chunk, recordEvents } from "turnwright/testing";
import { createHoldClock } from "./hold-clock.ts";
import { answersOf, never, outcomesOf, play, tool } from "./play.ts";

it("1 paused call then length is not run", async () => {
  let ran = 0;
  const { result } = play([[toolCall("a"), finish("paused")], [text("x"), finish("length")], text("end")], { tools: [tool("a", () => ++ran)] });
  const r = await result;
  console.log(1, outcomesOf(r), ran);
  expect(ran).toBe(0);
});
it("1b paused call then malformed-call is not run", async () => {
  let ran = 0;
  const { result } = play([[toolCall("a"), finish("paused")], [text("x"), finish("malformed-call")], text("end")], { tools: [tool("a", () => ++ran)] });
  const r = await result;
  console.log(outcomesOf(r), ran);
  expect(ran).toBe(0);
});
it("2 wall clock then stop does not restart settle", async () => {
  const p = play([toolCall("a")], { tools: [tool("a", () => never)], limits: { wallClockMs: 1000 } });
  await p.clock.advance(1000 + 4900);
  p.control.stop();
  await p.clock.advance(100);
  let done = false; void p.result.then(() => (done = true)); await p.clock.flush();
  expect(done).toBe(true);
});
it("3 timeouts count from dispatch", async () => {
  const clock = createHoldClock();
  const p = play([toolCall("a"), text("end")], { clock, tools: [tool("a", () => { clock.hold(200_000); return never; })] });
  await clock.advance(100_000);
  let done = false; void p.result.then(() => (done = true)); await clock.flush();
  expect(done).toBe(true);
});
it("4 retry after stop", async () => {
  let ran = 0;
  const p = play([toolCall("a")], ({ control, clock }) => ({ tools: [tool("a", () => { ran++; return new Promise((r) => clock.setTimeout(() => r(toolResult({ success: false, error: "x" })), 100)); }, { idempotent: true, retry: { maxAttempts: 3 } })] }));
  await p.clock.flush();
  p.control.stop();
  await p.clock.advance(1000);
  const r = await p.result;
  console.log(outcomesOf(r), ran);
  expect(ran).toBe(1);
});
it("5 hostile thenable", async () => {
  const p = play([toolCall("a"), text("end")], { tools: [tool("a", () => ({ then() { throw new Error("boo"); } }))] });
  const r = await p.result;
  console.log(outcomesOf(r));
});
it("7 wall clock on resume in mid pass", async () => {
  const first = play([text("hi")], { limits: { wallClockMs: 1000 } });
  const r = await first.result;
  const saved = JSON.parse(JSON.stringify(r.journal));
  const steps = { "p0/inbox": saved.steps["p0/inbox"] };
  const p = play([stall()], { limits: { wallClockMs: 1000 }, journal: memoryJournal({ steps }) });
  await p.clock.advance(6000);
  let done = false; void p.result.then(() => (done = true)); await p.clock.flush();
  expect(done).toBe(true);
});
it("9 gate garbage", async () => {
  const p = play([text("hi")], { policies: { gate: { active: true, allowedNames: 5 as never } } });
  const e = await p.result.catch((e) => e);
  console.log(e, p.control.stop());
});
it("10 contextItems cyclic", async () => {
  const a: unknown[] = []; a.push(a);
  const p = play([text("hi")], { contextItems: [a] as never });
  const e = await p.result.catch((e) => e);
  console.log(e);
  expect(isLoopError(e)).toBe(true);
});
it("11 approve mutates", async () => {
  const p = play([toolCall("a", { x: 1 }), text("hi")], { tools: [tool("a", (args) => args)], policies: { approve: (call) => { (call.args as any).x = 2; return { kind: "approve" }; } } });
  const r = await p.result;
  console.log(JSON.stringify(r.messages));
});
it("14 sync tools past the wall clock", async () => {
  const clock = createHoldClock(); let ran = 0;
  const p = play([[toolCall("a"), toolCall("a"), toolCall("a")], text("end")], { clock, limits: { wallClockMs: 1000 }, tools: [tool("a", () => { ran++; clock.hold(2000); return 1; })] });
  const r = await p.result;
  console.log(r.reason, outcomesOf(r), ran);
  expect(ran).toBe(1);
});
it("15 journal rejects while a tool runs", async () => {
  const inner = memoryJournal();
  const journal: Journal = { durable: true, step: async (s) => { if (s.key === "p0/tool/0/a") { await s.run({}); throw new Error("disk full"); } return inner.step(s); }, all: (steps) => Promise.all(steps.map((s) => journal.step(s))) as never };
  let signal: AbortSignal | undefined;
  const p = play([[toolCall("a"), toolCall("b")], text("end")], { journal, tools: [tool("a", () => 1), tool("b", (_, ctx) => { signal = ctx.signal; return never; })] });
  const e = await p.result.catch((e) => e);
  console.log(e, p.clock.pending, signal?.aborted);
  expect(p.clock.pending).toBe(0);
});
it("13 events after leaving", async () => {
  const clock = createTestClock();
  const s = streamToolLoop({ provider: createMockProvider([toolCall("a")]), messages: [{ role: "user", content: "x" }], clock, tools: [tool("a", () => never)] });
  const it = s[Symbol.asyncIterator]();
  await it.next();
  await clock.flush();
  await it.return?.();
  await clock.advance(5000);
  await s.result;
  expect(await it.next()).toEqual({ done: true, value: undefined });
});
it("128 heartbeat may be taken out", async () => {
  const provider = { id: "x", model: "y", async *stream(_: unknown, { heartbeat }: { heartbeat(): void }) { heartbeat(); yield { type: "text-delta", text: "x" } as const; yield { type: "finish", reason: "stop" } as const; } };
  const p = play([], { provider });
  console.log((await p.result).reason);
});
it("12 tool-end of a restart", async () => {
  const p = play([toolCall("a"), text("x")], { tools: [tool("a", () => ({ type: "context_restart_x" }))] });
  await p.result;
  console.log(p.recording.of("tool-end"));
});
it("6 context of listener", async () => {
  const events = createLoopEvents(); const seen: unknown[] = [];
  const o = { seen };
  events.on("run-end", function (this: typeof o) { this.seen.push(1); }, o);
  const p = play([text("x")], { events });
  await p.result;
  expect(seen).toEqual([1]);
});
it("39 cost after unstreamed", async () => {
  const p = play([], { pricing: () => 1, hooks: { preparePass: () => { throw new Error("x"); } } });
  const r = await p.result; console.log(r.costUSD, r.iterations, p.provider.calls);
});
