import { expect, it } from "vitest";
import { resolveLimits, resolveTimeouts } from "../../src/core/loop/limits.ts";
import { readPage, readRows, readSection, sorted } from "./read-page.ts";

const page = readPage("docs/limits.md");

it.for<[section: string, defaults: object]>([
  ["`limits` of a run", resolveLimits()],
  ["`timeouts` of a run", resolveTimeouts()],
])("docs/limits.md: lists everything under %s once, with a meaning", ([section, defaults]) => {
  const rows = readRows(readSection(page, section));
  const known = Object.keys(defaults).filter((name) => name !== "reserve");
  const names = known.map((name) => (name === "unknownCostEnds" ? "onUnknownCost" : name));
  expect(sorted(rows.map(([name = ""]) => name))).toEqual(sorted(names.map((name) => `\`${name}\``)));
  expect(rows.filter(([, , fallback, meaning]) => fallback === "" || meaning === "")).toEqual([]);
});

/** Returns the default in the comment of each field of an interface: a number or "no limit". */
function commentedIn(path: string, name: string): { readonly [field: string]: string | undefined } {
  const [, body = ""] = new RegExp(`export interface ${name} \\{\\n(.*?)\\n\\}`, "s").exec(readPage(path)) ?? [];
  const fields = body.matchAll(/\/\*\*(?<comment>(?:(?!\*\/).)*)\*\/\s*readonly (?<field>\w+)/gs);
  return Object.fromEntries(
    Array.from(fields, ({ groups }) => [
      groups?.["field"] ?? "",
      /Default:? (?<value>[\d,]*\d|no limit|"\w+")/.exec(groups?.["comment"] ?? "")?.groups?.["value"],
    ]),
  );
}

it.for<[path: string, name: string, defaults: { readonly [field: string]: number | string }]>([
  ["src/core/types/loop-options.ts", "LoopLimits", { ...numbersOf(resolveLimits()), onUnknownCost: '"end"' }],
  ["src/core/types/common.ts", "Timeouts", resolveTimeouts()],
])("the comments in %s: state every default of %s", ([path, name, defaults]) => {
  const text = (value: number | string): string => (value === Number.POSITIVE_INFINITY ? "no limit" : value.toLocaleString("en"));
  const expected = Object.entries(defaults).map(([field, value]) => [field, text(value)]);
  expect(commentedIn(path, name)).toEqual(Object.fromEntries(expected));
});

function numbersOf({ unknownCostEnds: _, reserve: __, ...numbers }: ReturnType<typeof resolveLimits>): {
  readonly [field: string]: number;
} {
  return numbers;
}
