import { describe, expect, it } from "vitest";
import { type Message, runToolLoop } from "turnwright";
import { compactMessages } from "turnwright/middleware";
import { createMockProvider, finish, text, toolCall } from "turnwright/testing";
import { play, tool } from "../loop/play.ts";
import { outline, start, tooLong } from "./compaction-stage.ts";

const long = (title: string): Message => ({ role: "user", content: `${title} ${"x".repeat(2_000)}` });

describe("compactMessages", () => {
  it("keeps pinned messages before the summary in every later request", async () => {
    const messages: Message[] = [
      { role: "user", content: "Rules.", pinned: true },
      long("A"),
      long("B"),
      { role: "user", content: "Go." },
    ];
    const { requests, result } = start({ calls: 6 }, { when: 2_500, keep: 1_200 }, { messages });
    await result;
    for (const { messages: sent } of requests) expect(outline(sent)[0]).toBe("user Rules.");
    expect(outline(requests.at(-1)?.messages ?? []).slice(0, 3)).toEqual(["user Rules.", "user Go.", "summary: The summary."]);
    expect(requests[0]?.messages[0]).toEqual({ role: "user", content: "Rules.", pinned: true });
  });

  it("keeps a call from options.messages that is waiting for approval, together with its result", async () => {
    const messages: Message[] = [
      long("A"),
      { role: "assistant", content: [{ type: "tool-call", callId: "w", name: "pay", args: {} }] },
      {
        role: "tool",
        results: [{ callId: "w", name: "pay", outcome: "awaiting-approval", result: { status: "awaiting_approval" } }],
      },
      long("B"),
      long("C"),
      { role: "user", content: "Go." },
    ];
    const { requests, result } = start({ calls: 2 }, { when: 1_200, keep: 100 }, { messages });
    const { compaction } = await result;
    expect(compaction?.count).toBe(1);
    for (const { messages: sent } of requests) expect(outline(sent)).toEqual(expect.arrayContaining(["call w", "result w"]));
  });

  it("keeps a steered message, but summarizes messages that the loop has added", async () => {
    const { control, provider, result, recording } = play(
      (request, index) => {
        if (request.purpose === "summary") return text("Short.");
        if (index === 0) return toolCall("look", {});
        if (index === 1) return [text("Hm."), finish("malformed-call")];
        return index < 5 ? toolCall("look", { index }) : text("Done.");
      },
      { tools: [tool("look", () => "x".repeat(4_000))], middleware: [compactMessages({ when: 3_000, keep: 500 })] },
    );
    recording.emitter.on("tool-end", ({ iteration }) => void (iteration === 0 && control.steer("In Celsius.")));
    const { status, messages } = await result;
    const last = outline(provider.requests.filter(({ purpose }) => purpose === undefined).at(-1)?.messages ?? []);
    expect([status, outline(messages).filter((line) => line.startsWith("user Your last tool call")).length]).toEqual([
      "completed",
      1,
    ]);
    expect(last.slice(0, 2)).toEqual(["user In Celsius.", "summary: Short."]);
  });

  it("splits a part of the conversation in half and tries again if the service refuses the part as too long", async () => {
    const parts: number[] = [];
    const provider = createMockProvider((request) => {
      if (request.purpose !== "summary") return text("Done.");
      const size = JSON.stringify(request.messages).length;
      parts.push(size);
      return size > 6_000 ? tooLong : text("Short.");
    });
    const messages = [..."ABCDEFGH"].map(long);
    const { status, compaction } = await runToolLoop({
      provider,
      messages,
      middleware: [compactMessages({ when: 3_000, keep: 600 })],
    });
    expect([status, compaction?.count, parts.filter((size) => size > 6_000).length, parts.length]).toEqual([
      "completed",
      7,
      2,
      9,
    ]);
  });
});
