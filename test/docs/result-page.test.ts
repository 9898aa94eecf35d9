import { expect, it } from "vitest";
import type { LoopResult, Usage } from "turnwright";
import { readPage, readRows, readSection } from "./read-page.ts";

const page = readPage("docs/result.md");

/** An object with every property name of `Type`. A missing or unknown name does not compile. */
type Names<Type> = { readonly [Name in keyof Required<Type>]: true };

const result: Names<LoopResult> = {
  status: true,
  reason: true,
  text: true,
  details: true,
  responseText: true,
  thoughtLog: true,
  thoughtLogOwner: true,
  streamResults: true,
  calls: true,
  functionHistory: true,
  accumulatedModelParts: true,
  messages: true,
  agent: true,
  handoffs: true,
  compaction: true,
  usage: true,
  cache: true,
  costUSD: true,
  knownCostUSD: true,
  iterations: true,
  toolCallsExecuted: true,
  durationMs: true,
  error: true,
  budgetExceeded: true,
  finalAnswer: true,
  output: true,
  pendingCalls: true,
  undelivered: true,
  journal: true,
  runId: true,
};
const usage: Names<Usage> = {
  inputTokens: true,
  outputTokens: true,
  totalTokens: true,
  cachedInputTokens: true,
  cacheWriteTokens: true,
  reasoningTokens: true,
};

it.for<[section: string, fields: object]>([
  ["`LoopResult`", result],
  ["`Usage`", usage],
])("docs/result.md: lists every field of %s with its meaning", ([section, fields]) => {
  const rows = readRows(readSection(page, section));
  expect(rows.map(([name = ""]) => name.replaceAll("`", ""))).toEqual(Object.keys(fields));
  expect(rows.filter((cells) => cells.at(-1) === "")).toEqual([]);
});
