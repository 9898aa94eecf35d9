import { expect, it } from "vitest";
import { z } from "zod";
import {
  createLoopControl,
  defineTool,
  type Journal,
  type LoopOptions,
  processResults,
  runToolLoop,
  structuredOutput,
} from "turnwright";
import { createMockProvider, fail, finish, type MockMessage, text, toolCall } from "turnwright/testing";
import { readPage, readSection } from "./read-page.ts";

/** Keys without their numbers. */
function shapesOf(keys: readonly string[]): ReadonlySet<string> {
  return new Set(
    keys.map((key) =>
      key
        .replace(/^i\d+(~\d+)?/, "i")
        .replace(/answered|next/, "look")
        .replaceAll(/\d+/g, ""),
    ),
  );
}

const page = readPage("docs/guides/resuming-a-run.md");

it("docs/guides/resuming-a-run.md: shows the journal keys of real runs", async () => {
  const records = new Map<string, unknown>();
  const journal: Journal = {
    durable: true,
    read: (key) => records.get(key),
    async step<T>(key: string, body: () => T | PromiseLike<T>): Promise<T> {
      if (!records.has(key)) records.set(key, await body());
      return records.get(key) as T;
    },
  };
  const inputSchema = z.object({}).refine(async () => true);
  const search = defineTool({
    name: "search",
    description: "Finds pages",
    inputSchema,
    execute: (_, { callId, defer }) => (callId === "call_i0_1" ? defer() : 1),
  });
  const run = (turns: readonly MockMessage[], more: Partial<LoopOptions> = {}): Promise<unknown> =>
    runToolLoop({
      provider: createMockProvider(turns),
      tools: [search],
      messages: [{ role: "user", content: "What makes the tides?" }],
      runId: "tides",
      journal,
      policies: {
        approve: ({ callId }) => ({ kind: callId === "call_i0_1" ? "ask" : "approve" }),
        results: processResults({ processor: () => undefined }),
        output: structuredOutput(z.string()),
      },
      hooks: { onIteration: () => {} },
      ...more,
    });
  await run([[toolCall("search"), toolCall("search")]]);
  const approved: LoopOptions["decisions"] = { call_i0_1: { kind: "approve" } };
  await run([], { decisions: approved });
  await run(
    [
      [text("The "), finish("paused")],
      [text("moon"), fail({ status: 503 })],
    ],
    { decisions: { ...approved, "call_i0_1#2": { kind: "result", result: 1 } } },
  );
  const control = createLoopControl();
  control.drain();
  await run([toolCall("search")], { resume: "retry-last", control });
  await run([text('"The moon."')]);

  const [, block = ""] = /```text\n(.*?)\n```/s.exec(readSection(page, "What the keys look like")) ?? [];
  const shown = block.split("\n").map((line) => line.replace(/ .*/, ""));
  expect([...records.keys()]).toEqual(expect.arrayContaining(shown));
  // The page shows each kind of key that these runs record.
  expect(shapesOf(shown)).toEqual(shapesOf([...records.keys()]));
});
