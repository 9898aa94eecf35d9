import { defineTool, isLoopError, runToolLoop, toolResult, truncateResults } from "turnwright";
import { describe, expect, it, onTestFinished } from "vitest";
import { adapters } from "./adapters.ts";
import type { Scripted } from "./all-wires.ts";

const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const script: readonly Scripted[] = [
  { calls: [["call_1", "click", "{}"]], end: "tools" },
  { text: "Done.", end: "stop" },
];

const click = defineTool({
  name: "click",
  description: "Clicks",
  inputSchema: { type: "object", properties: {} },
  execute: () =>
    toolResult({
      success: false,
      message: "Not clickable.",
      data: { selector: "#banner" },
      content: [
        { type: "text", text: `log of the page ${"x".repeat(2_000)}` },
        { type: "image", mediaType: "image/png", data: png },
      ],
    }),
});

describe.for(adapters)("$name $variant: the data and the content of a failed tool", (adapter) => {
  it("are sent with the reason for the failure", async () => {
    const { provider, bodies, close } = await adapter.open(script);
    onTestFinished(close);
    const result = await runToolLoop({ provider, tools: [click], messages: [{ role: "user", content: "Click." }] });
    expect(isLoopError(result.error) ? result.error.message : result.error).toBeUndefined();
    expect(result.functionHistory).toMatchObject([{ outcome: "failed", content: [{ type: "text" }, { type: "image" }] }]);
    const sent = JSON.stringify(bodies[1]);
    expect(["Not clickable.", "#banner", "log of the page", png].filter((text) => !sent.includes(text))).toEqual([]);
    // Anthropic refuses an error result that has anything but text.
    expect(sent).not.toContain('"is_error":true');
  });
});

it("processResults shortens a failed tool's content", async () => {
  const { provider, bodies, close } = await (adapters[0] as (typeof adapters)[number]).open(script);
  onTestFinished(close);
  const middleware = [truncateResults({ maxTokens: 100 })];
  const result = await runToolLoop({ provider, tools: [click], middleware, messages: [{ role: "user", content: "Click." }] });
  expect(result.calls).toMatchObject([{ outcome: "failed" }]);
  const sent = JSON.stringify(bodies[1]);
  expect([sent.includes("Not clickable."), sent.includes("left out here"), sent.includes(png)]).toEqual([true, true, true]);
});
