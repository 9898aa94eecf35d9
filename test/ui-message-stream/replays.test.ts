// A page that is reloaded after the run has ended gets the events from the journal. It shows the same message as the page that read
// the run live.

import { describe, expect, it } from "vitest";
import type { LoopOptions } from "turnwright";
import { type MockMessage, reasoning, text, toolCall } from "turnwright/testing";
import { tool } from "../loop/play.ts";
import { toChunks } from "./check-chunks.ts";
import { check, play, saved } from "./mapping-stage.ts";
import { readMessage, vendors } from "./vendors.ts";

describe("a message from the journal", () => {
  const interleaved: readonly MockMessage[] = [
    [reasoning("Hm."), text("So."), reasoning("Or?"), text("No."), toolCall("look"), toolCall("look")],
    [text("First."), toolCall("look"), text("Then."), toolCall("look"), reasoning("Why?"), text("Done.")],
    [text("Usual."), toolCall("look")],
    [text("End."), reasoning("Late.")],
  ];

  it.each(vendors)("has the parts in the order of the live message in ai $version", async (vendor) => {
    const { version } = vendor;
    const tools = [tool("look", () => 1)];
    const { events, result } = await play({ tools, script: interleaved });
    const again = await play({ tools, journal: saved(result) });
    const reloaded = toChunks(again.events, { version });
    await check(reloaded, version);
    const message = await readMessage(vendor, reloaded);
    expect(message?.parts.map(({ type }) => type)).toContain("reasoning");
    expect(message).toEqual(await readMessage(vendor, toChunks(events, { version })));
  });

  const approved = { kind: "approve" } as const;
  // The client of version 6 knows no chunk for a decision.
  it.each(vendors.filter(({ version }) => version !== 6))(
    "has the decisions of the live message, also of a question that was asked again, in ai $version",
    async (vendor) => {
      const { version } = vendor;
      const options = (description: string): Partial<LoopOptions> => ({
        tools: [tool("pay", () => 1, { needsApproval: true, description })],
      });
      const script = (): ReturnType<typeof toolCall>[] => [toolCall("pay", { n: 1 })];
      const first = await play({ ...options("Pays."), script: script() });
      const journal = saved(first.result);
      const second = await play({ ...options("Pays twice."), journal, decisions: { call_i0_0: approved } });
      expect(second.result.reason).toMatchObject({ calls: [{ id: "call_i0_0#2" }] });
      const decisions = { call_i0_0: approved, "call_i0_0#2": approved };
      const third = await play({ ...options("Pays twice."), script: [text("Paid.")], journal: saved(second.result), decisions });
      expect(third.result.text).toBe("Paid.");
      const live = toChunks(
        [first, second, third].flatMap(({ events }) => events),
        { version },
      );
      await check(live, version);
      const again = await play({ ...options("Pays twice."), journal: saved(third.result) });
      const reloaded = toChunks(again.events, { version });
      await check(reloaded, version);
      const message = await readMessage(vendor, reloaded);
      expect(JSON.stringify(message)).toContain("r:call_i0_0#2");
      expect(message).toEqual(await readMessage(vendor, live));
    },
  );
});
