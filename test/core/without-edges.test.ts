// A bundle of the loop alone has no words and no full checks. These checks hold all the same.

import { afterEach, expect, it } from "vitest";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { defineTool } from "turnwright";
import { runToolLoop } from "../../src/core/loop/run-tool-loop.ts";
import { bareEdges, edges } from "../../src/shared/edges.ts";

const whole = { ...edges };
afterEach(() => void Object.assign(edges, whole));

const work = defineTool({ name: "work", description: "", inputSchema: { type: "object" }, execute: () => "done" });
const messages = [{ role: "user", content: "Go." }] as const;

function leaveOutAll(): void {
  for (const name of Object.keys(edges)) Reflect.deleteProperty(edges, name);
  Object.assign(edges, bareEdges);
}

it("runToolLoop: runs in a bundle without the optional checks and messages", async () => {
  leaveOutAll();
  const provider = createMockProvider([toolCall("work", {}), text("Done.")]);
  const result = await runToolLoop({ provider, tools: [work], messages });
  expect(result).toMatchObject({ status: "completed", text: "Done.", toolCallsExecuted: 1 });
});

it("runToolLoop: a function as needsApproval makes each call wait, in a bundle without the optional checks and without approve()", async () => {
  leaveOutAll();
  const provider = createMockProvider([toolCall("work", {}), text("Done.")]);
  const result = await runToolLoop({ provider, tools: [{ ...work, needsApproval: () => false }], messages });
  expect(result.reason).toMatchObject({ kind: "approval-required", calls: [{ name: "work" }] });
});

it.for<[options: object, code: string, option: string]>([
  [{ middelware: [] }, "unknown-option", "middelware"],
  [{ limits: { maxCostUsd: 1 } }, "unknown-option", "limits.maxCostUsd"],
  [{ limits: { maxIterations: Number.NaN } }, "invalid-option", "limits.maxIterations"],
  [{ limits: { maxToolCalls: "5" } }, "invalid-option", "limits.maxToolCalls"],
  [{ timeouts: { toolMS: 5 } }, "unknown-option", "timeouts.toolMS"],
])(
  "runToolLoop: refuses the options %o, even in a bundle without the optional checks and messages",
  async ([options, code, option]) => {
    const run = async (): Promise<unknown> =>
      runToolLoop({ provider: createMockProvider([text("Done.")]), messages, ...options });
    await expect(run()).rejects.toMatchObject({ code, details: { option } });
    leaveOutAll();
    await expect(run()).rejects.toMatchObject({ code, details: { option } });
  },
);
