import { expect, it } from "vitest";
import { approve, isLoopError, type LoopOptions, memoryJournal, runToolLoop, type SavedJournal } from "turnwright";
import { inspectJournal } from "turnwright/journal";
import { chunk, createMockProvider, createTestClock, text, toolCall } from "turnwright/testing";
import { tool } from "../loop/play.ts";

const optionsFor = (saved?: SavedJournal): LoopOptions & { journal: ReturnType<typeof memoryJournal> } => ({
  provider: createMockProvider([
    [text("Let me see."), toolCall("look", { a: 1 }), toolCall("fail"), toolCall("pay")],
    [
      chunk({
        type: "request-adjusted",
        changes: [{ by: "adapter", field: "topP", action: "removed", reason: "unsupported" }],
      }),
      text("Done."),
    ],
  ]),
  tools: [
    tool("look", () => 1),
    tool("fail", () => Promise.reject(new Error("no"))),
    tool("pay", () => 2, { needsApproval: true }),
  ],
  messages: [{ role: "user", content: "Go." }],
  runId: "r",
  middleware: [approve(() => ({ kind: "approve" }))],
  clock: createTestClock(),
  journal: memoryJournal(saved),
});

type Edit = readonly [key: string, path: readonly (string | number)[]];

function placesIn(value: unknown, path: readonly (string | number)[] = []): (readonly (string | number)[])[] {
  if (typeof value !== "object" || value === null) return [path];
  return [path, ...Object.entries(value).flatMap(([field, inner]) => placesIn(inner, [...path, field]))];
}

function put(value: unknown, [field, ...rest]: readonly (string | number)[], odd: unknown): unknown {
  if (field === undefined) return odd;
  const copy = structuredClone(value) as Record<string, unknown>;
  copy[field] = put(copy[field], rest, odd);
  return copy;
}

it.for([[null], [7], ["odd"], [[]], [{}]] as const)(
  "a saved journal with %j in any field of a record is accepted, or rejected with a clear error",
  async ([odd]) => {
    const options = optionsFor();
    await runToolLoop(options);
    const saved = options.journal.toJSON();
    const edits = Object.entries(saved.steps).flatMap(([key, answer]): Edit[] => placesIn(answer).map((path) => [key, path]));
    const codes = new Set<string>();
    const unclear: string[] = [];
    for (const [key, path] of edits) {
      const steps = { ...saved.steps, [key]: put(saved.steps[key], path, odd) } as SavedJournal["steps"];
      const changed = { ...saved, steps };
      for (const read of [() => runToolLoop(optionsFor(changed)), () => inspectJournal(memoryJournal(changed))]) {
        const error: unknown = await (async () => read())().then(
          () => undefined,
          (thrown: unknown) => thrown,
        );
        const isClear = isLoopError(error) || String(error).includes("The journal must return the recorded result");
        if (error !== undefined && !isClear)
          unclear.push(`${key} ${path.join(".")}: ${error instanceof Error ? error.message : ""}`);
        if (isLoopError(error)) codes.add(error.code);
      }
    }
    expect(unclear).toEqual([]);
    expect(codes).toContain("journal-damaged");
  },
);
