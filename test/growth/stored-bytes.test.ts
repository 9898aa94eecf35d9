// A run stores its conversation and each result only once. This test counts bytes and records, not time.

import { statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  approve,
  defineTool,
  detectLoops,
  type Journal,
  type LoopOptions,
  maskResults,
  memoryJournal,
  type Message,
  runToolLoop,
} from "turnwright";
import { type BlobStore, fileJournal, withBlobs } from "turnwright/journal";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { makeFolder } from "../journal/folder.ts";

const conversationBytes = 800_000;
const resultBytes = 5_000;

/** The maximum number of bytes that a run may store for each call, in addition to the result of the call. */
const maxBeside = 3_000;

const conversation: readonly Message[] = Array.from({ length: 400 }, (_, index) => {
  const said = `${index} `.padEnd(conversationBytes / 400, "x");
  return index % 2 === 0 ? { role: "user", content: said } : { role: "assistant", content: [{ type: "text", text: said }] };
});

interface Storage {
  readonly journal: Journal;
  bytes(): number;
  records(): number;
}

function inMemory(): Storage {
  const journal = memoryJournal();
  return { journal, bytes: () => JSON.stringify(journal).length, records: () => journal.keys().length };
}

function inFile(): Storage {
  const path = join(makeFolder(), "run.jsonl");
  const journal = fileJournal(path, { fsync: false });
  let records = 0;
  const counted: Journal = { ...journal, step: (key, body) => ((records += 1), journal.step(key, body)) };
  return { journal: counted, bytes: () => statSync(path).size, records: () => records };
}

function inBlobs(): Storage {
  const inner = inMemory();
  const texts = new Map<string, string>();
  const store: BlobStore = { put: (id, given) => void texts.set(id, given), get: () => texts };
  const blobBytes = (): number => [...texts.values()].reduce((sum, { length }) => sum + length, 0);
  return {
    journal: withBlobs(inner.journal, { store, minBytes: 1_000 }),
    bytes: () => inner.bytes() + blobBytes(),
    records: inner.records,
  };
}

const storages: readonly (readonly [what: string, create: () => Storage])[] = [
  ["memoryJournal", inMemory],
  ["fileJournal", inFile],
  ["withBlobs", inBlobs],
];

const variants: readonly (readonly [what: string, options: Partial<LoopOptions>])[] = [
  ["no policies", {}],
  [
    "policies and a version",
    {
      version: "1.0.0",
      middleware: [
        maskResults({ keepIterations: 1, minTokens: 0 }),
        detectLoops({ compareResults: true, action: "inject-warning" }),
        approve(() => ({ kind: "approve" })),
      ],
    },
  ],
];

async function store(calls: number, storage: Storage, options: Partial<LoopOptions>): Promise<Storage> {
  const read = defineTool<{ readonly n: number }>({
    name: "read",
    description: "Reads",
    inputSchema: { type: "object" },
    execute: ({ n }) => `${n} `.padEnd(resultBytes, "x"),
  });
  const provider = createMockProvider(({ iteration }) =>
    iteration < calls ? toolCall("read", { n: iteration }) : text("Done."),
  );
  const { journal } = storage;
  const limits = { maxIterations: calls + 1, maxToolCalls: calls };
  const result = await runToolLoop({
    provider,
    tools: [read],
    messages: conversation,
    runId: "run",
    limits,
    journal,
    ...options,
  });
  expect([result.text, result.toolCallsExecuted]).toEqual(["Done.", calls]);
  return storage;
}

/** Compares the growth from `some` to `many` calls with the growth from `few` to `some`. The former adds twice as many calls. */
function growthOf([few = 0, some = 0, many = 0]: readonly number[]): number {
  return (many - some) / (some - few);
}

describe.for(storages)("a run with %s", ([, create]) => {
  it.for(variants)("stores the conversation and each result once, with %s", async ([, options]) => {
    const bytes: number[] = [];
    const records: number[] = [];
    for (const calls of [25, 50, 100]) {
      const storage = await store(calls, create(), options);
      bytes.push(storage.bytes());
      records.push(storage.records());
      expect(storage.bytes()).toBeLessThan(conversationBytes * 1.1 + calls * (resultBytes + maxBeside));
    }
    expect(growthOf(records)).toBe(2);
    expect(growthOf(bytes)).toBeCloseTo(2, 1);
  });
});
