// A deployment renames or removes a tool while a run with a journal file is under way.

import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { approve, type LoopOptions, type LoopResult, runToolLoop, type Tool } from "turnwright";
import { fileJournal } from "turnwright/journal";
import { createMockProvider, type MockProvider, text, toolCall } from "turnwright/testing";
import { tool } from "../loop/play.ts";
import { makeFolder } from "./folder.ts";

interface Stage {
  readonly ran: readonly string[];
  readonly provider: MockProvider;
  execute(names: readonly string[], more?: Partial<LoopOptions>): Promise<LoopResult>;
  /** Runs `find`. The process dies before the outcome is recorded. */
  die(): Promise<void>;
}

/** The model calls `find` in iteration 0 and `other` in iteration 1. */
function setUp(): Stage {
  const path = join(makeFolder(), "run.jsonl");
  const ran: string[] = [];
  const make = (name: string): Tool => tool(name, () => (ran.push(name), `by ${name}`));
  const provider = createMockProvider(({ iteration }) => [toolCall("find"), toolCall("other"), text("Done.")][iteration]);
  const messages = [{ role: "user" as const, content: "Go." }];
  const execute: Stage["execute"] = (names, more = {}) =>
    runToolLoop({ provider, tools: names.map(make), messages, runId: "run", journal: fileJournal(path), ...more });
  const die = async (): Promise<void> => {
    const inner = fileJournal(path);
    const lost = new Error("The process has died.");
    const journal = {
      ...inner,
      step: <T>(key: string, body: () => T | PromiseLike<T>) =>
        inner.step(key, async () => {
          const made = await body();
          if (key.endsWith("/outcome")) throw lost;
          return made;
        }),
    };
    await expect(execute(["find", "other"], { journal })).rejects.toBe(lost);
  };
  return { ran, provider, execute, die };
}

const removed = { toolName: "find", kind: "removed" };

describe.for<[what: string, names: readonly string[]]>([
  ["removed", ["other"]],
  ["renamed", ["search", "other"]],
])("a fileJournal run whose tool was %s after it had been called", ([, names]) => {
  it("continues if the tool's calls have finished", async () => {
    const { ran, execute } = setUp();
    await execute(["find", "other"], { limits: { maxIterations: 1 } });
    const allowToolChange = vi.fn(() => false);
    const result = await execute(names, { allowToolChange });
    expect([result.text, ran, allowToolChange.mock.calls]).toEqual(["Done.", ["find", "other"], []]);
    expect(JSON.stringify(result.messages)).toContain("by find");
  });

  it(`is rejected as "tools-changed" with the tool's name if a call has no outcome`, async () => {
    const { ran, provider, execute, die } = setUp();
    await die();
    await expect(execute(names)).rejects.toMatchObject({
      code: "tools-changed",
      message: expect.stringContaining('"find"'),
      details: { changed: ["find"], changes: [removed] },
    });
    expect([ran, provider.calls]).toEqual([["find"], 1]);
  });

  it("continues without the call's outcome if allowToolChange allows the change", async () => {
    const { ran, execute, die } = setUp();
    await die();
    const asked: unknown[] = [];
    const allowToolChange: LoopOptions["allowToolChange"] = (change) => {
      asked.push(change);
      return change.kind === "removed";
    };
    const result = await execute(names, { allowToolChange });
    expect([result.text, ran, asked]).toEqual(["Done.", ["find", "other"], [removed]]);
    const [outcome] = result.messages.flatMap((message) => (message.role === "tool" ? message.results : []));
    expect(outcome).toMatchObject({ name: "find", outcome: "interrupted" });
  });

  it("runs no other tool for a call that was waiting for approval", async () => {
    const { ran, execute } = setUp();
    const policy = (): { readonly kind: "ask" } => ({ kind: "ask" });
    const first = await execute(["find", "other"], { middleware: [approve(policy)] });
    expect(first.status).toBe("suspended");
    const id = first.reason.kind === "approval-required" ? (first.reason.calls[0]?.id ?? "") : "";
    const answers = { [id]: { kind: "approve" as const } };
    await expect(execute(names, { middleware: [approve(policy)], answers })).rejects.toMatchObject({ code: "tools-changed" });
    const middleware = [approve(() => ({ kind: "approve" as const }))];
    const result = await execute(names, { middleware, allowToolChange: () => true });
    const [outcome] = result.messages.flatMap((message) => (message.role === "tool" ? message.results : []));
    expect([result.text, ran, outcome]).toEqual([
      "Done.",
      ["other"],
      expect.objectContaining({ name: "find", outcome: "unknown-tool" }),
    ]);
  });
});
