import { expect, it } from "vitest";
import { resolveLimits, resolveTimeouts } from "../../src/core/loop/limits.ts";
import { readPage, readRows, readSection, sorted } from "./read-page.ts";

const page = readPage("docs/guides/stopping-a-run.md");

/** Returns the names in a section's table. Each name is followed by its default from the second cell: a number or "none". */
function listedIn(section: string): readonly string[] {
  const rows = readRows(readSection(page, section));
  return sorted(rows.map(([name = "", fallback = ""]) => `${name} ${/^(?:[\d,]*\d|none)/.exec(fallback)?.[0] ?? fallback}`));
}

function known(defaults: { readonly [name: string]: number }): readonly string[] {
  const text = (value: number): string => (value === Number.POSITIVE_INFINITY ? "none" : value.toLocaleString("en"));
  return sorted(Object.entries(defaults).map(([name, value]) => `\`${name}\` ${text(value)}`));
}

it("docs/guides/stopping-a-run.md: lists every limit once, with its default", () => {
  const { unknownCostEnds, reserve: _, ...numbers } = resolveLimits();
  expect(listedIn("Limits of the run")).toEqual(
    sorted([...known(numbers), `\`onUnknownCost\` ${unknownCostEnds ? '"end"' : ""}`]),
  );
});

it("docs/guides/stopping-a-run.md: lists every timeout once, with its default", () => {
  expect(listedIn("Limits of one wait")).toEqual(known(resolveTimeouts()));
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
