import { describe, expect, it } from "vitest";
import type { LoopOptions } from "turnwright";
import { fail, type MockMessage, reasoning, text, toolCall } from "turnwright/testing";
import { tool } from "../loop/play.ts";
import { toChunks } from "./check-chunks.ts";
import { check, play, type Played, saved } from "./mapping-stage.ts";
import { readMessage, textOf, vendors } from "./vendors.ts";

describe("a UI message from the journal", () => {
  const interleaved: readonly MockMessage[] = [
    [reasoning("Hm."), text("So."), reasoning("Or?"), text("No."), toolCall("look"), toolCall("look")],
    [text("First."), toolCall("look"), text("Then."), toolCall("look"), reasoning("Why?"), text("Done.")],
    [text("Usual."), toolCall("look")],
    [text("End."), reasoning("Late.")],
  ];

  it.each(vendors)("has its parts in the same order as the live message in AI SDK $version", async (vendor) => {
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

  describe("of a failed run", () => {
    const down = fail({ status: 503 });
    const tools = [tool("look", () => 1)];
    const start = [
      [text("Looking."), toolCall("look")],
      [reasoning("Hm."), text("Wrong."), down],
    ];

    /** The run failed in its second iteration. The first retry failed too, and the second retry succeeded. */
    async function retry(): Promise<readonly Played[]> {
      const first = await play({ tools, script: start });
      const again = { tools, resume: "retry-last" } as const;
      const second = await play({ ...again, script: [[text("Bad."), down]], journal: saved(first.result) });
      const third = await play({ ...again, script: [text("Right.")], journal: saved(second.result) });
      const reload = await play({ tools, journal: saved(third.result) });
      expect([third, reload].map(({ result }) => [result.text, result.status])).toEqual([
        ["Right.", "completed"],
        ["Right.", "completed"],
      ]);
      return [first, second, third, reload];
    }

    it.each(vendors)("does not contain text from discarded assistant messages in AI SDK $version", async (vendor) => {
      const { version } = vendor;
      for (const { events } of (await retry()).slice(2)) {
        const chunks = toChunks(events, { version });
        await check(chunks, version);
        expect(JSON.stringify(chunks)).not.toMatch(/Wrong|Bad|Hm/);
        expect(textOf(await readMessage(vendor, chunks))).toBe("Looking.Right.");
      }
    });

    it.each(vendors)("contains the text of the last message in AI SDK $version if no retry followed", async (vendor) => {
      const { version } = vendor;
      const { result } = await play({ tools, script: start });
      const again = await play({ tools, journal: saved(result) });
      expect(textOf(await readMessage(vendor, toChunks(again.events, { version })))).toBe("Looking.Wrong.");
    });

    it.each(vendors)("replaces discarded text that an AI SDK $version UI already shows", async (vendor) => {
      const { version } = vendor;
      const [first, second, third] = await retry();
      const shown = await readMessage(vendor, toChunks(first?.events ?? [], { version }));
      expect(textOf(shown)).toBe("Looking.Wrong.");
      const live = toChunks(second?.events ?? [], { version, from: "live" });
      await check(live, version, shown);
      const then = await readMessage(vendor, live, shown);
      const last = await readMessage(vendor, toChunks(third?.events ?? [], { version, from: "live" }), then);
      const joined = toChunks(
        [first, second, third].flatMap((one) => one?.events ?? []),
        { version },
      );
      await check(joined, version);
      for (const message of [last, await readMessage(vendor, joined)]) {
        if (version === 7) expect(textOf(message)).toBe("Looking.Right.");
        else expect(message?.parts.filter(({ type }) => type === "data-attempt-discarded")).toHaveLength(2);
      }
    });
  });

  const approved = { kind: "approve" } as const;
  // AI SDK 6 has no chunk for a decision.
  it.each(vendors.filter(({ version }) => version !== 6))(
    "contains the same decisions as the live message in AI SDK $version, even if a question was repeated",
    async (vendor) => {
      const { version } = vendor;
      const options = (description: string): Partial<LoopOptions> => ({
        tools: [tool("pay", () => 1, { needsApproval: true, description })],
      });
      const script = (): ReturnType<typeof toolCall>[] => [toolCall("pay", { n: 1 })];
      const first = await play({ ...options("Pays."), script: script() });
      const journal = saved(first.result);
      const second = await play({ ...options("Pays twice."), journal, answers: { call_i0_0: approved } });
      expect(second.result.reason).toMatchObject({ calls: [{ id: "call_i0_0~2" }] });
      const answers = { call_i0_0: approved, "call_i0_0~2": approved };
      const third = await play({ ...options("Pays twice."), script: [text("Paid.")], journal: saved(second.result), answers });
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
      expect(JSON.stringify(message)).toContain("r:call_i0_0~2");
      expect(message).toEqual(await readMessage(vendor, live));
    },
  );
});
