// In each of these logs, one field has a value of another type.

import { describe, expect, it } from "vitest";
import { isLoopError } from "turnwright";
import { parseRunLog, type RunLog, toChromeTrace, toMarkdown } from "turnwright/inspect";
import { budgetSeriesOf, totalsOf } from "../../src/inspect/analysis/run-totals.ts";
import { compareRuns } from "../../src/inspect/analysis/compare-runs.ts";
import { findCacheBreaks } from "./find-cache-breaks.ts";
import { buildTree, titleOf } from "../../src/inspect/ui/model/entries.ts";
import { buildRows } from "../../src/inspect/ui/model/rows.ts";
import { failedLog, nestedLog, suspendedLog } from "./page/sample-logs.ts";

const values: readonly unknown[] = [7, "x", [], {}, [null], { a: null }];
let turn = 0;

/** Each field gets `null` and one of the values. The next field gets the next value. */
function takeValues(): readonly unknown[] {
  turn += 1;
  return [null, values[turn % values.length]];
}

/** Returns copies of a line. In each copy, one field at a depth of up to 5 has another value. */
function mutate(value: unknown, depth = 0): readonly unknown[] {
  if (typeof value !== "object" || value === null || depth > 5) return [];
  return Object.entries(value).flatMap(([key, field]: [string, unknown]) => {
    const copyWith = (other: unknown): unknown => {
      const copy: unknown = structuredClone(value);
      (copy as { [key: string]: unknown })[key] = other;
      return copy;
    };
    return [...takeValues(), ...mutate(field, depth + 1)].map(copyWith);
  });
}

function readAll(log: RunLog): void {
  toChromeTrace(log, { captureContent: true });
  for (const run of log.runs) {
    toMarkdown(run);
    totalsOf(run);
    findCacheBreaks(run);
    budgetSeriesOf(run);
    compareRuns(run, run);
    const tree = buildTree(run);
    tree.entries.map(titleOf);
    buildRows(tree);
  }
}

/** Returns a text that is equal for lines of one type with the same fields, of the same types. */
function shapeOf(line: unknown): string {
  return JSON.stringify(line, (key, value: unknown) =>
    (typeof value === "object" && value !== null) || key === "type" ? value : typeof value,
  );
}

/** Finds logs that are read without an error, but cannot be shown. */
function findProblems(text: string): { readonly problems: ReadonlySet<string>; readonly shown: number } {
  const lines = text.trim().split("\n");
  const problems = new Set<string>();
  let shown = 0;
  const shapes = new Set<string>();
  for (const [index, line] of lines.entries()) {
    const shape = shapeOf(JSON.parse(line));
    if (shapes.has(shape)) continue;
    shapes.add(shape);
    for (const wrong of mutate(JSON.parse(line))) {
      const log = lines.with(index, JSON.stringify(wrong)).join("\n");
      try {
        readAll(parseRunLog(log));
        shown += 1;
      } catch (error) {
        if (!isLoopError(error, "log-damaged") || /Cannot|undefined|not a function/.test(error.message))
          problems.add(
            `${String(error)} ${error instanceof Error ? error.stack?.split("\n")[1] : ""} ${JSON.stringify(wrong).slice(0, 200)}`,
          );
      }
    }
  }
  return { problems, shown };
}

describe("parseRunLog and the log exports", () => {
  const logs = [
    ["a failed run", failedLog],
    ["a nested run", nestedLog],
    ["a suspended run", () => suspendedLog(1)],
  ] as const;

  it.for(logs)(
    'either reject the log of %s as "log-damaged" or show the log if one of its fields has the wrong type',
    async ([, create]) => {
      const { problems, shown } = findProblems(await create());
      expect([...problems]).toEqual([]);
      expect(shown).toBeGreaterThan(100);
    },
  );
});
