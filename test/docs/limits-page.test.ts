// The page on stopping is complete: every limit and every timeout, each with its default.

import { expect, it } from "vitest";
import { resolveLimits, resolveTimeouts } from "../../src/loop/check-options.ts";
import { readPage, readRows, readSection } from "./read-page.ts";

const page = readPage("docs/guides/stopping-a-run.md");

function listedIn(section: string): readonly (readonly string[])[] {
  return readRows(readSection(page, section)).map(([name = "", fallback = ""]) => [
    name,
    fallback.split(",").slice(0, 2).join(",").split(" ")[0] ?? "",
  ]);
}

function known(defaults: object): readonly (readonly string[])[] {
  return Object.entries(defaults).map(([name, value]) => [
    `\`${name}\``,
    value === Number.POSITIVE_INFINITY ? "none" : value.toLocaleString("en"),
  ]);
}

it("lists every limit once, with its default", () => {
  expect(listedIn("Limits of the run").toSorted()).toEqual(known(resolveLimits()).toSorted());
});

it("lists every timeout once, with its default", () => {
  const listed = listedIn("Limits of one wait").map(([name, fallback = ""]) => [name, fallback.replace(/,$/, "")]);
  expect(listed.toSorted()).toEqual(known(resolveTimeouts()).toSorted());
});
