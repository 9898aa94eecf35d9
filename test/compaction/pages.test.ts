import { describe, expect, it } from "vitest";
import type { LoopEvent } from "turnwright";
import { createAGUIMapper } from "turnwright/ag-ui";
import { compactMessages } from "turnwright/middleware";
import { text } from "turnwright/testing";
import { createUIMessageMapper } from "turnwright/ui-message-stream";
import { checkEvents } from "../ag-ui/mapping-stage.ts";
import { tool } from "../loop/play.ts";
import { play } from "../ui-message-stream/mapping-stage.ts";
import { scriptModel } from "./compaction-stage.ts";

async function playCompaction(summary: string): Promise<readonly LoopEvent[]> {
  const { provider } = scriptModel({ calls: 4, summary: () => text(summary) });
  const search = tool("search", () => "x".repeat(4_000));
  const middleware = [compactMessages({ when: 3_500, keep: 1_500 })];
  return (await play({ provider, tools: [search], middleware })).events;
}

describe("a compaction", () => {
  it("is sent as two transient data parts in a UI message stream, without the summary", async () => {
    const mapper = createUIMessageMapper();
    const chunks = (await playCompaction("A secret summary.")).flatMap((event) => mapper.map(event));
    expect(chunks.filter(({ type }) => type === "data-compaction")).toEqual([
      { type: "data-compaction", transient: true, data: { state: "started", cause: "due" } },
      { type: "data-compaction", transient: true, data: { state: "compacted", tokensBefore: 4_192, tokensAfter: 1_143 } },
    ]);
    expect(JSON.stringify(chunks)).not.toContain("secret");
  });

  it("is sent as two custom events to AG-UI clients if the model writes no summary", async () => {
    const mapper = createAGUIMapper();
    const events = (await playCompaction("")).flatMap((event) => mapper.map(event));
    checkEvents(events);
    const sent = events.filter((event) => event.type === "CUSTOM" && event.name === "compaction");
    expect(sent).toEqual([
      { type: "CUSTOM", name: "compaction", value: { state: "started", cause: "due" } },
      { type: "CUSTOM", name: "compaction", value: { state: "failed", tokensBefore: 4_192, tokensAfter: 4_192 } },
    ]);
  });
});
