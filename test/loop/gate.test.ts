import { describe, expect, it } from "vitest";
import { gateTools, memoryJournal } from "turnwright";
import type { DeliberateGate } from "../../src/core/types/middleware-options.ts";
import type { TriggerMatch } from "../../src/core/types/loop-event.ts";
import { text, toolCall } from "turnwright/testing";
import { outcomesOf, play, tool, type Playing } from "./play.ts";

const trigger: TriggerMatch = { trigger: "search*", match: "searching", source: "stem" };
const tools = [
  tool("search", () => "found"),
  tool("broken", () => Promise.reject(new Error("no"))),
  tool("other", () => "other"),
];
const script = [[toolCall("search"), toolCall("broken"), toolCall("other"), toolCall("search")], text("Done.")];
const outcomes = async ({ result }: Playing): Promise<string> =>
  outcomesOf(await result)
    .map((line) => line.split(" ")[1])
    .join(" ");

describe("gateTools", () => {
  it.for<[title: string, gate: DeliberateGate, expected: string]>([
    [
      "allows only the tools in allowedNames",
      { active: true, allowedNames: ["search", "broken"] },
      "completed failed blocked completed",
    ],
    ["accepts a Set as allowedNames", { active: true, allowedNames: new Set(["other"]) }, "blocked blocked completed blocked"],
    ["blocks every tool if allowedNames is empty", { active: true, allowedNames: [] }, "blocked blocked blocked blocked"],
    ["allows every tool if allowedNames is absent", { active: true }, "completed failed completed completed"],
    ["allows every tool if the gate is not active", { active: false, allowedNames: [] }, "completed failed completed completed"],
  ])("%s", async ([, gate, expected]) => {
    expect(await outcomes(play(script, { tools, middleware: [gateTools(gate)] }))).toBe(expected);
  });

  it("calls retain() for each successful tool in call order, except on replay", async () => {
    const retained: string[] = [];
    const gate: DeliberateGate = { active: true, allowedNames: ["search", "broken"], retain: (name) => void retained.push(name) };
    const playing = play(script, { tools, middleware: [gateTools(gate)] });
    await playing.result;
    expect(retained).toEqual(["search", "search"]);

    const journal = memoryJournal(JSON.parse(JSON.stringify((await playing.result).journal)));
    await play([], { tools, middleware: [gateTools(gate)], journal }).result;
    expect(retained).toEqual(["search", "search"]);
  });

  it("does not call retain if the gate is not active", async () => {
    const retained: string[] = [];
    await play(script, { tools, middleware: [gateTools({ active: false, retain: (name) => void retained.push(name) })] }).result;
    expect(retained).toEqual([]);
  });

  it.for<[how: string, retain: (name: string) => unknown]>([
    [
      "throws",
      () => {
        throw new Error("no memory");
      },
    ],
    ["rejects", () => Promise.reject(new Error("no memory"))],
  ])('continues the run and emits "listener-error" if retain %s', async ([, retain]) => {
    const playing = play([toolCall("search"), text("Done.")], { tools, middleware: [gateTools({ active: true, retain })] });
    expect((await playing.result).text).toBe("Done.");
    await playing.clock.flush();
    expect(playing.recording.of("listener-error")).toMatchObject([{ event: "retain", error: { message: "no memory" } }]);
  });

  it(`emits "hidden-notice" with each executed tool's trigger, even on replay`, async () => {
    const gate: DeliberateGate = {
      active: true,
      triggerMatchByToolName: new Map([
        ["search", trigger],
        ["broken", trigger],
      ]),
    };
    const first = play([[toolCall("search"), toolCall("broken")], text("Done.")], { tools, middleware: [gateTools(gate)] });
    const { journal } = await first.result;
    const live = first.recording.of("hidden-notice");
    expect(live.map((notice) => [notice.callId, notice.name, notice.trigger, notice.replayed])).toEqual([
      ["call_i0_0", "search", trigger, undefined],
      ["call_i0_1", "broken", trigger, undefined],
    ]);

    const saved = memoryJournal(JSON.parse(JSON.stringify(journal)));
    const again = play([], { tools, middleware: [gateTools(gate)], journal: saved });
    await again.result;
    expect(again.recording.of("hidden-notice")).toMatchObject([
      { name: "search", trigger, replayed: true },
      { name: "broken", trigger, replayed: true },
    ]);
  });
});
