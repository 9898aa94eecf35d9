import { describe, expect, it } from "vitest";
import { type LoopOptions, withFallback, withRetry } from "turnwright";
import { createMockProvider, fail, type MockScript, text, toolCall } from "turnwright/testing";
import { tool } from "../loop/play.ts";
import { toChunks } from "./check-chunks.ts";
import { check, lines, play } from "./mapping-stage.ts";
import { readMessage, textOf, vendors } from "./vendors.ts";

describe("createUIMessageMapper", () => {
  const flaky = (): LoopOptions["provider"] =>
    withFallback([
      createMockProvider([[text("Wrong. "), toolCall("look"), fail({ status: 503 })]], { id: "a" }),
      createMockProvider([[text("Right. "), toolCall("look")], text("Done.")], { id: "b" }),
    ]);

  it.each(vendors)("omits text from a discarded attempt in the AI SDK $version message", async (vendor) => {
    const { version } = vendor;
    const { events, result } = await play({ provider: flaky(), tools: [tool("look", () => 1)] });
    expect(events.map(({ type }) => type)).toContain("attempt-discarded");
    const chunks = toChunks(events, { version });
    await check(chunks, version);
    const message = await readMessage(vendor, chunks);
    expect(textOf(message)).toBe(result.streamResults.map(({ text }) => text).join(""));
    expect(message?.parts.filter(({ toolCallId }) => toolCallId !== undefined)).toHaveLength(result.functionHistory.length);
    expect(chunks.some(({ type }) => type === "reset-step")).toBe(version === 7);
    if (version !== 7) expect(JSON.stringify(chunks)).not.toContain("Wrong");
  });

  it("sends data-attempt-discarded after discarded text with holdAttempts: false", async () => {
    const { events } = await play({ provider: flaky(), tools: [tool("look", () => 1)] });
    const chunks = toChunks(events, { holdAttempts: false });
    await check(chunks, 6);
    expect(lines(chunks).slice(1, 16)).toMatchInlineSnapshot(`
      [
        "start-step",
        "text-start id="text-0-0"",
        "text-delta id="text-0-0" delta="Wrong. "",
        "text-end id="text-0-0"",
        "tool-input-start toolCallId="r:call_i0_0" toolName="look"",
        "tool-input-delta toolCallId="r:call_i0_0" inputTextDelta="{}"",
        "tool-input-available toolCallId="r:call_i0_0" toolName="look" input={}",
        "data-attempt-discarded id="discarded-0-0" data={"iteration":0}",
        "tool-output-error toolCallId="r:call_i0_0" errorText="The call did not run." providerExecuted=true",
        "text-start id="text-0-1"",
        "text-delta id="text-0-1" delta="Right. "",
        "text-end id="text-0-1"",
        "tool-input-start toolCallId="r:call_i0_0_1" toolName="look"",
        "tool-input-delta toolCallId="r:call_i0_0_1" inputTextDelta="{}"",
        "tool-input-available toolCallId="r:call_i0_0_1" toolName="look" input={}",
      ]
    `);
  });

  const two = (): MockScript => [text("One two.", { chunks: 2 })];
  it.for<[when: string, make: () => LoopOptions["provider"]]>([
    ["the provider is not wrapped", () => createMockProvider(two())],
    ["the provider is wrapped in withRetry", () => withRetry(createMockProvider(two()))],
    [
      "withFallback runs the last provider",
      () => withFallback([createMockProvider([fail({ status: 503 })], { id: "a" }), createMockProvider(two(), { id: "b" })]),
    ],
    ["withFallback has one provider", () => withRetry(withFallback([createMockProvider(two())]))],
  ])("sends text immediately if %s", async ([, make]) => {
    const { events } = await play({ provider: make() });
    const delta = events.findIndex(({ type }) => type === "text-delta");
    expect(toChunks(events.slice(0, delta + 1)).filter(({ type }) => type === "text-delta")).toHaveLength(1);
  });

  it("sends held-back text before the same message's approval and calls", async () => {
    const other = createMockProvider([], { id: "b" });
    const provider = withFallback([createMockProvider([[text("Paying."), toolCall("pay")]]), other]);
    const { events } = await play({ provider, tools: [tool("pay", () => 1)] });
    const types = toChunks(events).map(({ type }) => type);
    expect(types.indexOf("text-delta")).toBeLessThan(types.indexOf("tool-input-available"));
    const start = events.findIndex(({ type }) => type === "tool-start");
    expect(toChunks(events.slice(0, start + 1)).map(({ type }) => type)).toContain("text-delta");
  });
});
