import { expect, it } from "vitest";
import { z } from "zod";
import {
  createLoopControl,
  defineTool,
  type Journal,
  type LoopOptions,
  processResults,
  runToolLoop,
  type Step,
  structuredOutput,
} from "turnwright";
import type { StepKind } from "turnwright/parts";
import { createMockProvider, fail, finish, type MockMessage, text, toolCall } from "turnwright/testing";
import { readNames, readPage, readSection } from "./read-page.ts";

const kinds: { readonly [Kind in StepKind]: true } = {
  run: true,
  inbox: true,
  model: true,
  validation: true,
  approval: true,
  intent: true,
  tool: true,
  result: true,
  results: true,
  hook: true,
  reopen: true,
};

const page = readPage("docs/guides/resuming-a-run.md");

it("docs/guides/resuming-a-run.md: names every kind of journal step", () => {
  expect(readNames(readSection(page, "A journal of your own"))).toEqual(expect.arrayContaining(Object.keys(kinds)));
});

it("docs/guides/resuming-a-run.md: shows the journal keys of real runs", async () => {
  const records = new Map<string, unknown>();
  const step = async <T>({ key, run }: Step<T>): Promise<T> => {
    if (!records.has(key)) records.set(key, await run({}));
    return records.get(key) as T;
  };
  const journal: Journal = { durable: true, step, all: (steps) => Promise.all(steps.map(step)) };
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
  const shown = [...block.split("\n").map((line) => line.split(" ")[0]), "run", "i0/intent/1/search"];
  expect([...records.keys()]).toEqual(expect.arrayContaining(shown));
});
