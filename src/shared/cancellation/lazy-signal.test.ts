import { describe, expect, it } from "vitest";
import { LazySignal } from "../signals.ts";

describe("LazySignal", () => {
  it("returns the same signal on every read", () => {
    const lazy = new LazySignal();
    expect([lazy.signal === lazy.signal, lazy.signal.aborted]).toEqual([true, false]);
  });

  it("aborts its signal once, with the first reason", () => {
    const lazy = new LazySignal();
    const heard: unknown[] = [];
    lazy.signal.addEventListener("abort", () => heard.push(lazy.signal.reason));
    lazy.abort(() => "first");
    lazy.abort(() => "second");
    expect([heard, lazy.signal.reason]).toEqual([["first"], "first"]);
  });

  it("returns an aborted signal on a first read after abort()", () => {
    const lazy = new LazySignal();
    lazy.abort(() => "first");
    lazy.abort(() => "second");
    expect([lazy.signal.aborted, lazy.signal.reason]).toEqual([true, "first"]);
  });

  it("creates the abort reason only when the signal is read", () => {
    const lazy = new LazySignal();
    let made = 0;
    lazy.abort(() => (made += 1));
    expect(made).toBe(0);
    expect([lazy.signal.reason, made]).toEqual([1, 1]);
  });
});
