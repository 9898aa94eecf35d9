import { describe, expect, it } from "vitest";
import { stall, text } from "turnwright/testing";
import { createStage, playing, readAll, readStart, textOf } from "./stage.ts";

describe("createRunHost", () => {
  it("lets readers join a finished run for keepMs", async () => {
    const { host, clock, id } = createStage({ keepMs: 1000 });
    await readStart(host.start(id, { ...playing([text("One.")], clock), message: "Go." }));
    await clock.advance(500);
    await readStart(host.start(`${id}b`, { ...playing([text("Two.")], clock), message: "Go." }));
    expect(clock.pending).toBe(1);
    await clock.advance(499);
    expect(textOf(await readAll(host.join(id)))).toBe("One.");
    await clock.advance(1);
    expect([host.join(id), textOf(await readAll(host.join(`${id}b`)))]).toEqual([undefined, "Two."]);
    await clock.advance(500);
    expect([host.join(`${id}b`), clock.pending]).toEqual([undefined, 0]);
    expect(await host.status(id)).toMatchObject({ status: "completed" });
  });

  it("drops the oldest finished runs if maxBytes is exceeded, but not for readers that have already joined", async () => {
    const { host, clock, id } = createStage({ maxBytes: 100_000 });
    const say = async (name: string) =>
      readStart(host.start(name, { ...playing([text("x".repeat(20_000))], clock), message: "Go." }));
    await say(`${id}-a`);
    const reader = host.join(`${id}-a`);
    for (const name of ["b", "c", "d"]) await say(`${id}-${name}`);
    expect(["a", "b", "c", "d"].map((name) => host.join(`${id}-${name}`) !== undefined)).toEqual([false, false, true, true]);
    expect(textOf(await readAll(reader))).toHaveLength(20_000);
  });

  it("does not let readers join a finished run with keepMs: 0 or maxBytes: 0", async () => {
    for (const options of [{ keepMs: 0 }, { maxBytes: 0 }]) {
      const { host, clock, id } = createStage(options);
      await readStart(host.start(id, { ...playing([text("One.")], clock), message: "Go." }));
      await clock.advance(0);
      expect([host.join(id), clock.pending]).toEqual([undefined, 0]);
    }
  });
});

describe("readers that stop reading a hosted run", () => {
  it("leave no signal listeners on a run that emits no more events", async () => {
    const { host, clock, id } = createStage();
    await host.start(id, { ...playing([[text("One."), stall()]], clock), message: "Go." });
    let listeners = 0;
    const signal = new AbortController().signal;
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    signal.addEventListener = (...args: Parameters<typeof add>) => ((listeners += 1), add(...args));
    signal.removeEventListener = (...args: Parameters<typeof remove>) => ((listeners -= 1), remove(...args));
    const left = host.join(id, { signal });
    const reading = readAll(left);
    await clock.flush();
    expect(listeners).toBe(1);
    await left?.[Symbol.asyncIterator]().return?.();
    await reading;
    expect(listeners).toBe(0);
    const read = readAll(host.join(id, { signal }));
    host.stop(id);
    await read;
    expect(listeners).toBe(0);
  });
});
