import { expect, it } from "vitest";
import { approve, defineTool, runToolLoop } from "turnwright";
import { createMockProvider, reasoning, recordEvents, text, toolCall } from "turnwright/testing";
import { readEventFields } from "./event-fields.ts";
import { readNames, readPage, readRows, readSection, sorted } from "./read-page.ts";

const page = readPage("docs/concepts/life-of-a-run.md");

const eventFields = readEventFields();

it("docs/concepts/life-of-a-run.md: lists every event once, with its fields", () => {
  const listed = readRows(readSection(page, "Events")).map(([event = "", , carried = ""]) => [
    readNames(event)[0] ?? "",
    sorted(readNames(carried)),
  ]);
  const known = [...eventFields].map(([type, names]) => [type, sorted(names)]);
  expect(Object.fromEntries(listed)).toEqual(Object.fromEntries(known));
  expect([listed.length, known.length > 30]).toEqual([known.length, true]);
});

it("llms.txt: names only events that exist", () => {
  const [, list = ""] = /^- Events[^:]*:(.*?)^- /ms.exec(readSection(readPage("llms.txt"), "Words")) ?? [];
  const named = readNames(list);
  expect(named.length).toBeGreaterThan(30);
  expect(named.filter((name) => !eventFields.has(name))).toEqual([]);
});

it("docs/concepts/life-of-a-run.md: shows the event tree of a real run", async () => {
  const recording = recordEvents();
  const { promise: moonIsFound, resolve } = deferred();
  const search = defineTool<{ query: string }>({
    name: "search",
    description: "Finds pages",
    inputSchema: { type: "object" },
    async execute({ query }, { progress }) {
      if (query === "tides") return moonIsFound;
      progress("half");
      resolve();
    },
  });
  const calls = [
    toolCall("search", { query: "tides" }, { id: "call_a" }),
    toolCall("search", { query: "moon" }, { id: "call_b" }),
  ];
  await runToolLoop({
    provider: createMockProvider([
      [reasoning("Two searches should do."), text("One moment."), ...calls],
      text("It is the moon."),
    ]),
    tools: [search],
    messages: [{ role: "user", content: "What makes the tides?" }],
    events: recording.emitter,
    middleware: [approve(() => ({ kind: "approve" }))],
  });
  const [, shown] = /```text\n(.*?)\n```/s.exec(readSection(page, "Events")) ?? [];
  expect(shown).toBe(recording.outline());
});

function deferred(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = (): void => {};
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
