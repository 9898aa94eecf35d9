import { z } from "zod";
import { describe, expect, it, vi } from "vitest";
import { ask, defineTool, type LoopOptions, runToolLoop, streamToolLoop } from "turnwright";
import { readAGUIRequest, toAGUIStream } from "turnwright/ag-ui";
import { createRunHost } from "turnwright/host";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { readUIChatRequest, toUIMessageStream } from "turnwright/ui-message-stream";

function optionsOf(wait: boolean): LoopOptions {
  const book = defineTool({
    name: "book",
    description: "Books a room",
    inputSchema: z.object({}),
    durable: true,
    execute: (_, context) =>
      ask(context, { question: "Which city?", schema: z.object({ city: z.string() }), fromPage: true, wait }),
  });
  const provider = createMockProvider(({ messages }) => (messages.length === 1 ? [toolCall("book", {})] : text("Done.")));
  return { provider, tools: [book], messages: [{ role: "user", content: "Go." }], runId: "r" };
}

async function readAll<T>(stream: AsyncIterable<T>): Promise<readonly T[]> {
  const all: T[] = [];
  for await (const one of stream) all.push(one);
  return all;
}

const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };

describe("a question that a tool asks", () => {
  it("is sent to useChat as a data part", async () => {
    const chunks = await readAll(toUIMessageStream(streamToolLoop(optionsOf(false)), { version: 6 }) as never);
    const data = {
      text: "Which city?",
      schema,
      questionId: "r:call_i0_0",
      toolCallId: "r:call_i0_0",
      toolName: "book",
      isLive: false,
      fromPage: true,
    };
    expect(chunks.filter((chunk) => (chunk as { type: string }).type === "data-question")).toEqual([
      { type: "data-question", id: "r:call_i0_0", data },
    ]);
    const body = {
      id: "chat",
      messages: [
        { id: "r", role: "assistant", parts: [{ type: "tool-book", toolCallId: "r:call_i0_0", state: "input-available" }] },
      ],
      answers: { "r:call_i0_0": { kind: "result", result: { city: "Oslo" } }, "r:call_i0_1": { kind: "failed", error: "No." } },
    };
    expect((await readUIChatRequest(body)).answers).toEqual({
      call_i0_0: { kind: "result", result: { city: "Oslo" }, fromPage: true },
      call_i0_1: { kind: "failed", error: "No.", fromPage: true },
    });
  });

  it("is sent to AG-UI clients as an interrupt with a schema", async () => {
    const options = optionsOf(false);
    const first = await runToolLoop(options);
    const events = await readAll(
      toAGUIStream(streamToolLoop({ ...optionsOf(false), runId: "r" }), { threadId: "t", runId: "page" }) as never,
    );
    const ended = events.at(-1) as {
      readonly outcome?: { readonly interrupts?: readonly { id: string; responseSchema: unknown }[] };
    };
    const [interrupt] = ended.outcome?.interrupts ?? [];
    expect(interrupt).toMatchObject({
      message: "Which city?",
      reason: "client_tool_input",
      responseSchema: { properties: { result: schema } },
    });
    const resume = [{ interruptId: interrupt?.id, status: "resolved", payload: { result: { city: "Oslo" } } }];
    const { answers } = await readAGUIRequest({ threadId: "t", runId: "page", messages: [], resume });
    const { journal } = first;
    expect((await runToolLoop({ ...options, journal, answers })).reason.kind).toBe("answered");
  });

  it("is shown on the web page until host.answer() is called", async () => {
    const host = createRunHost();
    const { provider, tools } = optionsOf(true);
    const started = await host.start("chat", { message: "Go.", provider, tools });
    if (started.kind !== "started") throw new Error(started.kind);
    const chunks: { type: string; data?: unknown }[] = [];
    const reading = (async () => {
      for await (const chunk of toUIMessageStream(started.join(), { version: 6 }) as never as AsyncIterable<{
        type: string;
        data?: unknown;
      }>)
        if (chunk.type === "data-question") chunks.push(chunk);
    })();
    await vi.waitFor(() => expect(chunks).toHaveLength(1));
    const { questionId } = (chunks[0]?.data ?? {}) as { readonly questionId: string };
    const answer = { kind: "result", result: { city: "Oslo" }, fromPage: true } as const;
    expect(host.answer("chat", "another", answer)).toBe("unknown");
    expect(host.answer("chat", questionId, answer)).toBe("accepted");
    expect((await started.result).reason.kind).toBe("answered");
    await reading;
    expect(chunks.at(-1)?.data).toMatchObject({ questionId, isLive: true, answer: "result" });
    expect(host.answer("chat", questionId, answer)).toBe("unknown");
    await host.close();
  });
});
