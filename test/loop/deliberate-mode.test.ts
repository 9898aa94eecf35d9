import { describe, expect, it } from "vitest";
import { gateTools, memoryJournal, prepareIteration } from "turnwright";
import { type DeliberateMode, createDeliberateMode } from "turnwright/middleware";
import { text, toolCall } from "turnwright/testing";
import { answersOf, outcomesOf, play, tool, type Playing } from "./play.ts";

const tools = [
  tool("set_reminder", () => ({ set: true })),
  tool("search", () => "found"),
  tool("broken", () => Promise.reject(new Error("no"))),
];
const search: Circumstances = { call: toolCall("search") };
const broken: Circumstances = { call: toolCall("broken") };
const triggers = { set_reminder: ["remind me", "reminder*"], search: "/look \\w+ up/i", broken: "break" };

/** `call` is the tool call of the model, and `recent` are earlier user messages. */
interface Circumstances {
  readonly call?: ReturnType<typeof toolCall>;
  readonly recent?: readonly string[];
}

function say(mode: DeliberateMode, said: string, { call = toolCall("set_reminder"), recent = [] }: Circumstances = {}): Playing {
  const gate = mode.forTurn({ conversationId: "room", text: said, recent });
  const messages = [{ role: "user", content: said }] as const;
  return play([call, text("Done.")], { tools, messages, middleware: [gateTools(gate)] });
}

async function outcome(playing: Playing): Promise<string | undefined> {
  return outcomesOf(await playing.result)[0]?.split(" ")[1];
}

describe("createDeliberateMode()", () => {
  it("lets a tool run after a message with the tool's trigger, and for four turns after the tool succeeds", async () => {
    const mode = createDeliberateMode({ triggers });
    const outcomes: (string | undefined)[] = [await outcome(say(mode, "remind me to eat"))];
    // A blocked call, or a turn without calls, does not restart the count of four turns.
    for (let turn = 0; turn < 3; turn += 1) outcomes.push(await outcome(say(mode, "hm", search)));
    outcomes.push(await outcome(say(mode, "and?")));
    for (let turn = 0; turn < 4; turn += 1) outcomes.push(await outcome(say(mode, "hm", search)));
    outcomes.push(await outcome(say(mode, "hm")));
    const blocked = Array.from({ length: 4 }, () => "blocked");
    expect(outcomes).toEqual(["completed", ...blocked.slice(1), "completed", ...blocked, "blocked"]);
  });

  it("blocks a tool in the next turn if the tool has failed", async () => {
    const mode = createDeliberateMode({ triggers });
    expect(await outcome(say(mode, "break it", broken))).toBe("failed");
    expect(await outcome(say(mode, "hm", broken))).toBe("blocked");
    expect(await outcome(say(mode, "do it again", { ...broken, recent: ["break it"] }))).toBe("failed");
  });

  it.for<[said: string, allowedToolNames: readonly string[]]>([
    ["hello", []],
    ["Remind me to look it up", ["set_reminder", "search"]],
  ])("lists, in the result of a blocked call, the tools that the user message %j allows", async ([said, allowedToolNames]) => {
    const playing = say(createDeliberateMode({ triggers }), said, broken);
    const result = await playing.result;
    const answer = { status: "blocked_by_deliberate_tool_mode", functionName: "broken", allowedToolNames };
    expect(answersOf(result)).toMatchObject([{ outcome: "blocked", result: answer }]);
    expect(playing.provider.requests[1]?.messages.at(-1)).toMatchObject({ role: "tool", results: [{ result: answer }] });
    expect(result.status).toBe("completed");
  });

  it.for<[said: string, recent: readonly string[], trigger: object]>([
    ["my reminders", [], { trigger: "reminder*", match: "reminders", source: "stem" }],
    ["again", ["remind me"], { trigger: "remind me", match: "remind me", source: "follow-up" }],
    ["hm", [], { trigger: "remind me", match: "Remind me", source: "retained" }],
  ])(
    'reports the trigger of an allowed tool in a "hidden-notice" event after the user message %j',
    async ([said, recent, trigger]) => {
      const mode = createDeliberateMode({ triggers });
      if (recent.length === 0) await say(mode, "Remind me").result;
      const call = toolCall("set_reminder", { at: "six", apiKey: "abcdef", note: "sk-abc123def456" });
      const playing = say(mode, said, { call, recent });
      await playing.result;
      const args = { at: "six", apiKey: "[redacted]", note: "[redacted]" };
      expect(playing.recording.of("hidden-notice")).toMatchObject([{ callId: "call_i0_0", name: "set_reminder", trigger, args }]);
    },
  );

  it("counts a replayed run's turn only once", async () => {
    const mode = createDeliberateMode({ triggers, retainTurns: 1 });
    const gate = mode.forTurn({ conversationId: "room", text: "remind me" });
    const { journal } = await play([toolCall("set_reminder"), text("Done.")], { tools, middleware: [gateTools(gate)] }).result;
    expect(await outcome(say(mode, "hm", search))).toBe("blocked");
    const saved = memoryJournal(JSON.parse(JSON.stringify(journal)));
    await play([], { tools, middleware: [gateTools(gate)], journal: saved }).result;
    expect(await outcome(say(mode, "hm"))).toBe("blocked");
  });

  it("returns allowedNames, with which prepareIteration can hide blocked tools", async () => {
    const gate = createDeliberateMode({ triggers }).forTurn({ text: "remind me" });
    const playing = play([text("Done.")], {
      tools,
      middleware: [prepareIteration(() => ({ tools: [...gate.allowedNames] })), gateTools(gate)],
    });
    await playing.result;
    expect(playing.provider.requests[0]?.tools.map(({ name }) => name)).toEqual(["set_reminder"]);
  });
});
