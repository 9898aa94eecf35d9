import { expect, it } from "vitest";
import type { IterationAnswer, IterationState, IterationView } from "../../src/core/types/loop-options.ts";
import { optionChecks, planChecks, sessionChecks } from "../../src/core/loop/option-table.ts";
import { readNames, readPage, readRows, readSection } from "./read-page.ts";

const page = readPage("docs/options.md");

/** An object with every property name of `Type`. A missing or unknown name does not compile. */
type Names<Type> = { readonly [Name in keyof Required<Type>]: true };

const view: Names<IterationView> = {
  iteration: true,
  messages: true,
  tools: true,
  system: true,
  modelSettings: true,
  toolChoice: true,
  usage: true,
};
const state: Names<IterationState> = { iteration: true, cumulativeCost: true, messageCount: true, lastToolCalls: true };
const answer: Names<IterationAnswer> = { abort: true, reason: true };

it.for<[section: string, rules: object]>([
  ["Options and hooks", optionChecks],
  ["Session fields", sessionChecks],
])('docs/options.md: lists every option under "%s" once, with the default of each flag', ([section, rules]) => {
  const rows = readRows(readSection(page, section)).map((cells) => cells.map((cell) => readNames(cell)[0] ?? cell));
  expect(rows.map(([name]) => name)).toEqual(Object.keys(rules));
  const flags = Object.entries(rules).filter(([, rule]) => typeof rule === "boolean");
  for (const [name, flag] of flags) expect(rows.find(([listed]) => listed === name)).toContain(String(flag));
});

it("docs/options.md: lists every hook with the fields of its input and result", () => {
  const listed = readRows(readSection(page, "Hooks")).map(([hook = "", , gets = "", gives = ""]) => [
    hook.replace(/\(.*/, "").replace("`", ""),
    readNames(gets),
    readNames(gives),
  ]);
  expect(listed).toEqual([
    ["prepareIteration", Object.keys(view), Object.keys(planChecks)],
    ["onIteration", Object.keys(state), Object.keys(answer)],
  ]);
});
