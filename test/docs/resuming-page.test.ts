import { expect, it } from "vitest";
import { z } from "zod";
import {
  approve,
  createLoopControl,
  defer,
  defineTool,
  type Journal,
  type LoopOptions,
  onIteration,
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

const page = readPage("docs/guides/what-runs-again.md");

it("docs/guides/what-runs-again.md: shows the journal keys of real runs", async () => {
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
    execute: (_, { callId }) => (callId === "call_i0_1" ? defer() : 1),
  });
  const run = (turns: readonly MockMessage[], more: Partial<LoopOptions> = {}): Promise<unknown> =>
    runToolLoop({
      provider: createMockProvider(turns),
      tools: [search],
      messages: [{ role: "user", content: "What makes the tides?" }],
      runId: "tides",
      journal,
      middleware: [
        onIteration(() => {}),
        structuredOutput(z.string()),
        processResults({ processor: () => undefined }),
        approve(({ callId }) => ({ kind: callId === "call_i0_1" ? "ask" : "approve" })),
      ],
      ...more,
    });
  await run([[toolCall("search"), toolCall("search")]]);
  const approved: LoopOptions["answers"] = { call_i0_1: { kind: "approve" } };
  await run([], { answers: approved });
  await run(
    [
      [text("The "), finish("paused")],
      [text("moon"), fail({ status: 503 })],
    ],
    { answers: { ...approved, "call_i0_1#2": { kind: "result", result: 1 } } },
  );
  const control = createLoopControl();
  control.drain();
  await run([toolCall("search")], { resume: "retry-last", control });
  await run([text('"The moon."')]);

  const [, block = ""] = /```text\n(.*?)\n```/s.exec(readSection(page, "What journal keys look like")) ?? [];
  const shown = block.split("\n").map((line) => line.replace(/ .*/, ""));
  expect([...records.keys()]).toEqual(expect.arrayContaining(shown));
  // The page shows each kind of key that these runs record.
  expect(shapesOf(shown)).toEqual(shapesOf([...records.keys()]));
});
