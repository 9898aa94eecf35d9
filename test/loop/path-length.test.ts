import { describe, expect, it } from "vitest";
import { defineTool, type Provider, runToolLoop } from "turnwright";
import { createMockProvider, text, toolCall } from "turnwright/testing";

function readStack(): readonly string[] {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 100;
  const { stack = "" } = new Error("the stack");
  Error.stackTraceLimit = limit;
  return stack.split("\n").filter((line) => /src[\\/]core[\\/]/.test(line));
}

/** `runToolLoop` has returned its promise and is no longer on the stack, so it is counted separately. */
function countFunctions(stack: readonly string[]): number {
  return stack.length + (stack.some((line) => line.includes("runToolLoop")) ? 0 : 1);
}

describe("the call stack of runToolLoop", () => {
  it("has at most 10 functions before provider.stream(), and at most 12 before tool.execute()", async () => {
    const stacks = new Map<string, readonly string[]>();
    const script = createMockProvider([[toolCall("look", {})], [text("Done.")]]);
    const provider: Provider = {
      ...script,
      stream(request, modelCall) {
        stacks.set("stream", readStack());
        return script.stream(request, modelCall);
      },
    };
    const look = defineTool({
      name: "look",
      description: "Looks.",
      inputSchema: { type: "object" },
      execute: () => {
        stacks.set("execute", readStack());
        return "seen";
      },
    });
    await runToolLoop({ provider, tools: [look], messages: [{ role: "user", content: "Look." }] });
    const [stream = [], execute = []] = [stacks.get("stream"), stacks.get("execute")];
    expect(stream.some((line) => line.includes("streamOnce"))).toBe(true);
    expect(execute.some((line) => line.includes("executeToolCall"))).toBe(true);
    expect(countFunctions(stream)).toBeLessThanOrEqual(10);
    expect(countFunctions(execute)).toBeLessThanOrEqual(12);
  });
});
