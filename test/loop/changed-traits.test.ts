import { describe, expect, it } from "vitest";
import { limitIdenticalCalls, type LoopResult, memoryJournal, preToolText, runToolLoop, type Tool } from "turnwright";
import { createMockProvider, type MockMessage, text, toolCall } from "turnwright/testing";
import { tool } from "./play.ts";

type Traits = Pick<Tool, "polls" | "requiresFollowUp">;

const messages = [{ role: "user", content: "Go." }] as const;
const middleware = [preToolText(), limitIdenticalCalls({ max: 2 })];

async function run(traits: Traits, script: readonly MockMessage[], journal = memoryJournal()): Promise<LoopResult> {
  const provider = createMockProvider([...script]);
  const look = tool("look", () => "same", traits);
  return runToolLoop({ provider, messages, tools: [look], middleware, journal, runId: "r" });
}

const polling = [toolCall("look"), toolCall("look"), toolCall("look"), text("Done.")];
const saying: MockMessage = [text("Noted."), toolCall("look")];

describe("a run whose tool has different traits when the run is replayed", () => {
  it.for<[what: string, was: Traits, now: Traits, script: readonly MockMessage[], reason: string]>([
    ["no longer polls", { polls: true }, {}, polling, "answered"],
    ["now polls", {}, { polls: true }, polling.slice(0, 2), "loop-detected"],
    ["now requires no follow-up", {}, { requiresFollowUp: false }, [saying, text("Done.")], "answered"],
    [
      "no longer requires a follow-up",
      { requiresFollowUp: true },
      { requiresFollowUp: false },
      [saying, text("Done.")],
      "answered",
    ],
    ["now requires a follow-up", { requiresFollowUp: false }, {}, [saying], "pre-tool-text"],
  ])("ends as recorded if the tool %s", async ([, was, now, script, reason]) => {
    const first = await run(was, script);
    expect(first.reason.kind).toBe(reason);
    const saved = memoryJournal(JSON.parse(JSON.stringify(first.journal)) as never);
    const again = await run(now, [], saved);
    expect([again.reason, again.messages]).toEqual([first.reason, first.messages]);
  });

  it("uses the new traits for new calls", async () => {
    const first = await run({}, [toolCall("look", { n: 1 })]);
    expect(first.reason.kind).toBe("provider-error");
    const saved = memoryJournal(JSON.parse(JSON.stringify(first.journal)) as never);
    const provider = createMockProvider([saying]);
    const look = tool("look", () => "same", { requiresFollowUp: false });
    const options = { provider, messages, tools: [look], middleware, journal: saved, runId: "r", resume: "retry-last" } as const;
    expect((await runToolLoop(options)).reason.kind).toBe("pre-tool-text");
  });
});
