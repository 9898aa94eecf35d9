import { describe, expect, it } from "vitest";
import { LazySignal } from "./signals.ts";

describe("a lazy signal", () => {
  it("is one signal, however often it is asked for", () => {
    const lazy = new LazySignal();
    expect([lazy.signal === lazy.signal, lazy.signal.aborted]).toEqual([true, false]);
  });

  it("fires once, with the first reason", () => {
    const lazy = new LazySignal();
    const heard: unknown[] = [];
    lazy.signal.addEventListener("abort", () => heard.push(lazy.signal.reason));
    lazy.abort(() => "first");
    lazy.abort(() => "second");
    expect([heard, lazy.signal.reason]).toEqual([["first"], "first"]);
  });

  it("is aborted already where nobody asked for it in time", () => {
    const lazy = new LazySignal();
    lazy.abort(() => "first");
    lazy.abort(() => "second");
    expect([lazy.signal.aborted, lazy.signal.reason]).toEqual([true, "first"]);
  });

  it("makes no reason where nobody holds it", () => {
    const lazy = new LazySignal();
    let made = 0;
    lazy.abort(() => (made += 1));
    expect(made).toBe(0);
    expect([lazy.signal.reason, made]).toEqual([1, 1]);
  });
});
