// A page that is reloaded after the run has ended gets the events from the journal, like a page that read the run live.

import { describe, expect, it } from "vitest";
import { reasoning, text, toolCall } from "turnwright/testing";
import { tool } from "../loop/play.ts";
import { readMessages, versions } from "./clients.ts";
import { checkEvents, play, saved, toEvents } from "./mapping-stage.ts";

describe("AG-UI events from the journal", () => {
  it.each(versions)("have the parts in the order of the live events, for the client of %s", async (version) => {
    const tools = [tool("look", () => 1)];
    const script = [[reasoning("Hm."), text("So."), toolCall("look"), reasoning("Or?"), text("No.")], text("Done.")];
    const { events, result } = await play({ tools, script });
    const again = await play({ tools, journal: saved(result) });
    const messages = await readMessages(toEvents(again.events, { version }), version);
    expect(messages).toEqual(await readMessages(toEvents(events, { version }), version));
  });

  it("name the interrupt of each decision, like the live events", async () => {
    const tools = [tool("pay", () => 1, { needsApproval: true }), tool("look", () => 1)];
    const script = [toolCall("pay"), toolCall("look")];
    const first = await play({ tools, script: [script] });
    const decisions = { call_i0_0: { kind: "deny" as const, reason: "No." } };
    const second = await play({ tools, script: [text("Done.")], journal: saved(first.result), decisions });
    const third = await play({ tools, journal: saved(second.result) });
    const decided = [second, third].map(({ events }) => {
      const sent = toEvents(events);
      checkEvents(sent);
      return sent.filter((event) => event.type === "CUSTOM" && event.name === "approval-decided");
    });
    const value = { toolCallId: "r:call_i0_0", interruptId: "r:call_i0_0", decision: "deny", reason: "No." };
    expect(decided[0]).toContainEqual({ type: "CUSTOM", name: "approval-decided", value });
    expect(decided[1]).toEqual(decided[0]);
  });
});
