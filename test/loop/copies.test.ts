import { expect, it, vi } from "vitest";
import * as first from "turnwright";
import { createMockProvider, text, toolCall } from "turnwright/testing";

const messages = [{ role: "user" as const, content: "Go." }];
vi.resetModules();
const second = await import("turnwright");

it.for<readonly [one: typeof first, other: typeof first]>([
  [first, second],
  [second, first],
])("a run from copy %$ of the package obeys a control from the other copy", async ([one, other]) => {
  const control = other.createLoopControl();
  const tools = [
    one.defineTool({
      name: "t",
      description: "",
      inputSchema: { type: "object" },
      execute: () => void control.stop({ note: "enough" }),
    }),
  ];
  const options = { provider: createMockProvider([toolCall("t"), text("Done.")]), tools, messages, control };
  const running = one.runToolLoop(options);
  await expect(other.runToolLoop({ ...options, provider: createMockProvider([]) })).rejects.toMatchObject({
    code: "already-running",
  });
  expect((await running).reason).toEqual({ kind: "stopped", note: "enough" });
  expect(control.stop()).toBe("finished");
});

it.for([first, second])(
  "runToolLoop from copy %$ of the package rejects an object that only imitates a control",
  async ({ createLoopControl, runToolLoop }) => {
    const real = createLoopControl();
    for (const control of [{ ...real }, Object.create(real)]) {
      const run = runToolLoop({ provider: createMockProvider([]), messages, control });
      await expect(run).rejects.toMatchObject({ code: "invalid-option", details: { option: "control" } });
    }
  },
);

it("a run inside a tool from another copy of the package counts toward the outer run's maxDepth", async () => {
  const refused: unknown[] = [];
  const execute = async (_: unknown, context: first.ToolContext): Promise<void> => {
    for (const more of [{ signal: context.signal }, { context }]) {
      const run = second.runToolLoop({ provider: createMockProvider([]), messages, ...more });
      await run.catch((error: unknown) => refused.push(error));
    }
  };
  const tools = [first.defineTool({ name: "t", description: "", inputSchema: { type: "object" }, execute })];
  await first.runToolLoop({
    provider: createMockProvider([toolCall("t"), text("Done.")]),
    tools,
    messages,
    limits: { maxDepth: 1 },
  });
  expect(refused).toMatchObject([{ code: "depth-exceeded" }, { code: "depth-exceeded" }]);
});
