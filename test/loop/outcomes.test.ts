import { describe, expect, it } from "vitest";
import { contextRestarts, createToolRegistry, type ToolResultPart } from "turnwright";
import { stall, text, toolCall } from "turnwright/testing";
import { type OutcomeRow, outcomeRows } from "./outcome-rows.ts";
import { answersOf, play, tool, type Playing } from "./play.ts";

async function answerTo(row: OutcomeRow): Promise<readonly [ToolResultPart | undefined, Playing]> {
  const part = row.part ?? toolCall("work");
  const limited = row.kind === "limit" ? [toolCall("later"), part] : [part];
  const registry = createToolRegistry([row.tool ?? tool("work", () => 1), tool("later", () => 2)]);
  const playing = play([[...limited, ...(row.end === undefined ? [] : [row.end])], text("Done.")], {
    tools: registry,
    middleware: [contextRestarts()],
    ...row.options,
  });
  await playing.clock.advance(row.stopAfterMs ?? 100);
  if (row.stopAfterMs !== undefined) playing.control.stop();
  await playing.clock.advance(5_000);
  return [answersOf(await playing.result).at(-1), playing];
}

describe("tool outcomes", () => {
  it.for(Object.entries(outcomeRows))(
    "are the same in the tool message, functionHistory and tool-end for %s",
    async ([, row]) => {
      const [answer, playing] = await answerTo(row);
      expect(answer).toMatchObject({ outcome: row.kind });
      expect(answer?.result).toEqual(row.reads);
      const { functionHistory } = await playing.result;
      expect(
        functionHistory
          .map(({ outcome, functionResponse }) => [outcome, functionResponse.response.result])
          .slice(row.kind === "limit" ? 1 : 0),
      ).toEqual(row.history === false ? [] : [[row.kind, row.reads]]);
      const told = playing.recording.of("tool-end").find(({ callId }) => callId === answer?.callId);
      // If the message ends the run, its calls never start, so they have no tool-end event.
      if (row.end === undefined || row.kind === "truncated")
        expect(told?.outcome).toBe(row.kind === "restarted" ? "completed" : row.kind);
      else expect(told).toBeUndefined();
    },
  );

  it("are all covered by the rows of this test", () => {
    const kinds = Object.values(outcomeRows).map(({ kind }) => kind);
    expect([...new Set(kinds)].sort()).toEqual([
      ...["blocked", "completed", "denied", "failed", "interrupted", "invalid-input", "limit", "malformed"],
      ...["not-run", "restarted", "timed-out", "truncated", "unknown-tool"],
    ]);
  });

  it('include "not-run" for a call whose run is stopped during the stream', async () => {
    let ran = 0;
    const playing = play([[toolCall("work"), stall()]], { tools: [tool("work", () => (ran += 1))] });
    await playing.clock.flush();
    playing.control.stop();
    expect(answersOf(await playing.result).map((part) => part.outcome)).toEqual(["not-run"]);
    expect(ran).toBe(0);
  });
});

describe("createToolRegistry", () => {
  it("makes a tool unavailable after unregister() and available again after register()", async () => {
    const registry = createToolRegistry();
    const work = tool("work", () => "done");
    registry.register(tool("remove", () => registry.unregister("work")));
    registry.register(work);
    registry.register(tool("add", () => registry.register(work)));
    const script = [
      toolCall("work"),
      [toolCall("remove"), toolCall("work")],
      toolCall("work"),
      toolCall("add"),
      toolCall("work"),
      text("Done."),
    ];
    const playing = play(script, { tools: registry, limits: { toolConcurrency: 1 } });
    const result = await playing.result;
    expect(answersOf(result).map(({ name, outcome }) => `${name} ${outcome}`)).toEqual([
      "work completed",
      "remove completed",
      // In this row, the tool was removed from the registry after the model had seen it.
      "work unknown-tool",
      "work unknown-tool",
      "add completed",
      "work completed",
    ]);
    expect(playing.provider.requests.map(({ tools }) => tools.map(({ name }) => name).join())).toEqual([
      ...["remove,work,add", "remove,work,add", "remove,add", "remove,add", "remove,add,work", "remove,add,work"],
    ]);
  });
});
