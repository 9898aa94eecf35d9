import { describe, expect, it } from "vitest";
import { type Provider, withRetry } from "turnwright";
import type { RetryOptions } from "../../src/core/providers/with-retry.ts";
import { createTestClock, stall, text, wait } from "turnwright/testing";
import { busy, single } from "./models.ts";
import { callOf, goRequest, outline } from "./outline.ts";

const half: RetryOptions = { random: () => 0 };

describe("withRetry", () => {
  it.for<[when: string, atMs: number, calls: number]>([
    ["during the first attempt", 50, 1],
    ["during the delay before a retry", 150, 1],
    ["during the second attempt", 400, 2],
  ])("ends the stream immediately if the signal fires %s", async ([, atMs, calls]) => {
    const inner = single([wait(100), busy], [stall({ ignoreSignal: true })]);
    const { clock, abort, lines, ended } = outline(withRetry(inner, half), { timeouts: { toolCleanupMs: 0 } });
    await clock.advance(atMs);
    abort.abort(new Error("Enough."));
    await clock.flush();
    await ended;
    expect([lines.at(-1), clock.now(), clock.pending]).toEqual(["aborted", atMs, 0]);
    await clock.advance(10_000);
    expect(inner.calls).toBe(calls);
  });

  it("makes no more attempts if the signal fires while a failed attempt is being closed", async () => {
    const abort = new AbortController();
    let asked = 0;
    const provider: Provider = {
      id: "a",
      model: "m",
      stream: () => {
        asked += 1;
        const next = (): Promise<never> => Promise.reject(Object.assign(new Error("Busy."), { status: 503 }));
        return {
          [Symbol.asyncIterator]: () => ({
            next,
            return: () => (abort.abort(), Promise.resolve({ done: true, value: undefined })),
          }),
        };
      },
    };
    const clock = createTestClock();
    const opened = withRetry(provider).stream(goRequest, callOf({ signal: abort.signal, clock }));
    const stream = opened[Symbol.asyncIterator]();
    await stream.next();
    await expect(stream.next()).rejects.toBe(abort.signal.reason);
    await clock.runAll();
    expect(asked).toBe(1);
  });

  it("aborts the wrapped provider with the reason of the call's signal", async () => {
    let signal: AbortSignal | undefined;
    const inner = single([text("Hi"), stall()]);
    const spied: Provider = { ...inner, stream: (request, call) => ((signal = call.signal), inner.stream(request, call)) };
    const { clock, abort, ended } = outline(withRetry(spied));
    await clock.flush();
    abort.abort(new Error("Enough."));
    await ended;
    expect(signal?.reason).toBe(abort.signal.reason);
  });

  it("does not call the wrapped provider if the signal has already fired", async () => {
    const inner = single(text("Hi."));
    const abort = new AbortController();
    abort.abort(new Error("Enough."));
    const stream = withRetry(inner).stream(goRequest, callOf({ signal: abort.signal }));
    await expect(stream[Symbol.asyncIterator]().next()).rejects.toThrow("Enough.");
    expect(inner.calls).toBe(0);
  });

  it("aborts the wrapped provider and ends all pending reads when the reader stops", async () => {
    const inner = single([text("Hi"), stall({ ignoreSignal: true })]);
    let signal: AbortSignal | undefined;
    const spied = {
      ...inner,
      stream: (...args: Parameters<typeof inner.stream>) => ((signal = args[1].signal), inner.stream(...args)),
    };
    const iterator = withRetry(spied).stream(goRequest, callOf())[Symbol.asyncIterator]();
    await iterator.next();
    await iterator.next();
    const reads = [iterator.next(), iterator.next()];
    await iterator.return?.();
    const over = { done: true, value: undefined };
    expect(await Promise.all(reads)).toEqual([over, over]);
    expect(await iterator.next()).toEqual(over);
    expect(signal?.reason).toMatchObject({ name: "AbortError", message: "The stream was abandoned." });
  });
});
