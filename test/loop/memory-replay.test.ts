import { describe, expect, it } from "vitest";
import { type LoopOptions, type LoopResult, memoryJournal, runToolLoop, type SavedJournal } from "turnwright";
import {
  createMockProvider,
  createTestClock,
  type EventRecording,
  type MockPart,
  type MockMessage,
  reasoning,
  recordEvents,
  text,
  toolCall,
  usage,
} from "turnwright/testing";
import { tool } from "./play.ts";

/** A replay emits no tool-args-delta events, so the call has no argument fragments. */
const call = (name: string, n: number): MockPart => toolCall(name, { n }, { fragments: 0 });

const turns: readonly MockMessage[] = [
  [reasoning("Hm."), text("Working. "), call("quick", 1), call("quick", 2), call("broken", 0), call("alone", 3)],
  [call("quick", 4), call("nope", 5), usage({ inputTokens: 5, outputTokens: 2 })],
  [text("Done.")],
];

interface Played {
  readonly result: LoopResult;
  readonly ran: readonly string[];
  readonly recording: EventRecording;
  readonly requests: number;
}

async function playOver(journal: LoopOptions["journal"]): Promise<Played> {
  const recording = recordEvents();
  const mock = createMockProvider(({ iteration }) => turns[iteration]);
  const ran: string[] = [];
  const note = (args: unknown, { callId }: { readonly callId: string }): unknown => (ran.push(callId), args);
  const broken = tool("broken", (args, context) => Promise.reject(new Error(`out of order: ${String(note(args, context))}`)));
  const tools = [tool("quick", note), tool("alone", note, { sequential: true }), broken];
  const result = await runToolLoop({
    provider: mock,
    messages: [{ role: "user", content: "Go." }],
    tools,
    runId: "memory",
    clock: createTestClock(),
    events: recording.emitter,
    journal,
  });
  return { result, ran, recording, requests: mock.calls };
}

const cut = (saved: SavedJournal, count: number): SavedJournal => ({
  steps: Object.fromEntries(Object.entries(saved.steps).slice(0, count)),
});
const savedOf = ({ result }: Played): SavedJournal => JSON.parse(JSON.stringify(result.journal));

describe("memoryJournal", () => {
  it("resumes a run from any number of saved records", async () => {
    const whole = await playOver(undefined);
    const saved = savedOf(whole);
    const keys = memoryJournal(saved).keys();
    for (const [index] of keys.entries()) {
      const kept = keys.slice(0, index);
      const again = await playOver(memoryJournal(cut(saved, index)));
      expect(again.result.messages).toEqual(whole.result.messages);
      expect([again.result.reason, again.result.usage]).toEqual([whole.result.reason, whole.result.usage]);
      expect(again.ran.length).toBe(keys.filter((key) => key.endsWith("/outcome") && !kept.includes(key)).length);
      expect(again.requests).toBe(keys.filter((key) => key.endsWith("/request/model") && !kept.includes(key)).length);
      expect(memoryJournal(savedOf(again)).keys()).toEqual(keys);
    }
  });

  it("marks every event in a replay as replayed", async () => {
    const whole = await playOver(undefined);
    const again = await playOver(memoryJournal(savedOf(whole)));
    expect(again.recording.outline()).toMatchInlineSnapshot(`
      "run-start
        iteration-start 0 (replayed)
          reasoning-delta "Hm." (replayed)
          text-delta "Working. " (replayed)
          tool-args-end quick (call_i0_0) {"n":1} (replayed)
          tool-args-end quick (call_i0_1) {"n":2} (replayed)
          tool-args-end broken (call_i0_2) {"n":0} (replayed)
          tool-args-end alone (call_i0_3) {"n":3} (replayed)
          tool-start quick (call_i0_0) {"n":1} (replayed)
          tool-start quick (call_i0_1) {"n":2} (replayed)
          tool-start broken (call_i0_2) {"n":0} (replayed)
          tool-end quick (call_i0_0) completed (replayed)
          tool-end quick (call_i0_1) completed (replayed)
          tool-end broken (call_i0_2) failed (replayed)
          tool-start alone (call_i0_3) {"n":3} (replayed)
          tool-end alone (call_i0_3) completed (replayed)
        iteration-end 0 tool-calls (replayed)
        iteration-start 1 (replayed)
          tool-args-end quick (call_i1_0) {"n":4} (replayed)
          tool-args-end nope (call_i1_1) {"n":5} (replayed)
          tool-end nope (call_i1_1) unknown-tool (replayed)
          tool-start quick (call_i1_0) {"n":4} (replayed)
          tool-end quick (call_i1_0) completed (replayed)
        iteration-end 1 tool-calls (replayed)
        iteration-start 2 (replayed)
          text-delta "Done." (replayed)
        iteration-end 2 completed (replayed)
        replay-end
      run-end completed answered"
    `);
    expect(whole.recording.events.filter((event) => event.replayed)).toEqual([]);
    const told = ({ recording }: Played): readonly string[] =>
      recording.events.map((event) => ("callId" in event ? `${event.type} ${event.callId}` : event.type));
    expect([...told(again)].sort()).toEqual([...told(whole), "replay-end"].sort());
  });

  it("marks only the recorded events as replayed in a resumed run", async () => {
    const whole = await playOver(undefined);
    const saved = savedOf(whole);
    const upTo = memoryJournal(saved).keys().indexOf("i0/call/0/quick/outcome") + 1;
    const again = await playOver(memoryJournal(cut(saved, upTo)));
    expect(again.recording.outline()).toMatchInlineSnapshot(`
      "run-start
        iteration-start 0 (replayed)
          reasoning-delta "Hm." (replayed)
          text-delta "Working. " (replayed)
          tool-args-end quick (call_i0_0) {"n":1} (replayed)
          tool-args-end quick (call_i0_1) {"n":2} (replayed)
          tool-args-end broken (call_i0_2) {"n":0} (replayed)
          tool-args-end alone (call_i0_3) {"n":3} (replayed)
          tool-start quick (call_i0_0) {"n":1} (replayed)
          tool-end quick (call_i0_0) completed (replayed)
          replay-end
          tool-start quick (call_i0_1) {"n":2}
          tool-start broken (call_i0_2) {"n":0}
          tool-end quick (call_i0_1) completed
          tool-end broken (call_i0_2) failed
          tool-start alone (call_i0_3) {"n":3}
          tool-end alone (call_i0_3) completed
        iteration-end 0 tool-calls (replayed)
        iteration-start 1
          tool-args-end quick (call_i1_0) {"n":4}
          tool-args-end nope (call_i1_1) {"n":5}
          tool-end nope (call_i1_1) unknown-tool
          tool-start quick (call_i1_0) {"n":4}
          tool-end quick (call_i1_0) completed
        iteration-end 1 tool-calls
        iteration-start 2
          text-delta "Done."
        iteration-end 2 completed
      run-end completed answered"
    `);
  });

  it("is not changed by a replay of a finished run", async () => {
    const { result } = await playOver(undefined);
    const before = JSON.stringify(result.journal);
    expect(JSON.parse(before).steps["begin"]).toEqual({ now: 0, token: expect.any(String) });
    await playOver(result.journal);
    expect(JSON.stringify(result.journal)).toBe(before);
  });
});
