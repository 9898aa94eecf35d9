import { describe, expect, it } from "vitest";
import { fail, reasoning, text, toolCall } from "turnwright/testing";
import { toAGUIMessages } from "turnwright/ag-ui";
import { tool } from "../loop/play.ts";
import { readMessages, textOf, versions } from "./clients.ts";
import { checkEvents, play, saved, toEvents } from "./mapping-stage.ts";

describe("AG-UI events from the journal", () => {
  it.each(versions)("have the same order as the live events for an AG-UI %s client", async (version) => {
    const tools = [tool("look", () => 1)];
    const script = [[reasoning("Hm."), text("So."), toolCall("look"), reasoning("Or?"), text("No.")], text("Done.")];
    const { events, result } = await play({ tools, script });
    const again = await play({ tools, journal: saved(result) });
    const messages = await readMessages(toEvents(again.events, { version }), version);
    expect(messages).toEqual(await readMessages(toEvents(events, { version }), version));
  });

  it.each(versions)("do not contain text that a retry discarded (AG-UI %s client)", async (version) => {
    const tools = [tool("look", () => 1)];
    const down = fail({ status: 503 });
    const first = await play({
      tools,
      script: [
        [text("Looking."), toolCall("look")],
        [text("Wrong."), toolCall("look"), down],
      ],
    });
    const journal = saved(first.result);
    const second = await play({ tools, script: [text("Right.")], journal, resume: "retry-last" });
    const third = await play({ tools, journal: saved(second.result) });
    for (const { events } of [second, third]) {
      const sent = toEvents(events, { version });
      checkEvents(sent);
      expect(JSON.stringify(sent)).not.toContain("Wrong");
      expect(textOf(await readMessages(sent, version))).toBe("Looking.Right.");
    }
    const shown = await readMessages(toEvents(first.events, { version }), version);
    const live = toEvents(second.events, { version, from: "live" });
    checkEvents(live);
    const discarded = live.find((event) => event.type === "CUSTOM" && event.name === "attempt-discarded");
    const after = await readMessages(live, version, shown);
    const { messageId } = (discarded as { readonly value?: { readonly messageId?: string } } | undefined)?.value ?? {};
    expect(after.find(({ id }) => id === messageId)?.content).toBe("Wrong.");
    expect(textOf(after.filter(({ id }) => id !== messageId))).toBe("Looking.Right.");
  });

  it("contain the interrupt id of each decision", async () => {
    const tools = [tool("pay", () => 1, { needsApproval: true }), tool("look", () => 1)];
    const script = [toolCall("pay"), toolCall("look")];
    const first = await play({ tools, script: [script] });
    const answers = { call_i0_0: { kind: "deny" as const, reason: "No." } };
    const second = await play({ tools, script: [text("Done.")], journal: saved(first.result), answers });
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

// github.com/ag-ui-protocol/ag-ui/issues/1524
it.each(versions)("A snapshot makes an AG-UI %s client show a run once, if it already shows a part of it", async (version) => {
  const tools = [tool("look", () => 1)];
  const { events } = await play({ tools, script: [[text("So."), toolCall("look")], text("Done.")] });
  const before = [
    { role: "user", content: "Hi.", id: "u1" },
    { role: "assistant", content: [{ type: "text", text: "Hello." }] },
    { role: "user", content: "Look.", id: "u2" },
  ] as const;
  const messages = toAGUIMessages({ runId: "earlier", messages: before });
  const sent = toEvents(events, { version, messages });
  checkEvents(sent);
  const shown = await readMessages(sent, version, messages);
  // The connection broke in the middle of the run. This client then reads the run from its start.
  const partly = shown.slice(0, -1);
  expect(textOf(partly)).toBe("Hello.So.");
  expect(await readMessages(sent, version, partly)).toEqual(shown);
  expect(textOf(await readMessages(toEvents(events, { version }), version, partly))).toBe("Hello.So.So.Done.");
});
