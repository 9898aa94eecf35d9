import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { entries } from "../../scripts/entries.ts";
import { findPages } from "../../scripts/find-pages.ts";
import { readPage, readSection } from "./read-page.ts";

const tasks = readSection(readPage("llms.txt"), "To do X: page, entry");
const specifiers = entries.map(({ specifier }) => specifier);
const exported = new Set(
  entries.flatMap(({ name }) =>
    Array.from(readFileSync(`test/package/surface/${name}.txt`, "utf8").matchAll(/^\w+ (\w+)$/gm), ([, found]) => found),
  ),
);

const guides = findPages().filter((path) => /^docs\/(guides|concepts)\//.test(path));

it.for(guides)("llms.txt: names the task of %s", (page) => {
  expect(tasks).toContain(`](${page})`);
});

it("llms.txt: names every entry point in a task, and only entry points that exist", () => {
  const named = Array.from(tasks.matchAll(/`(turnwright|\/[a-z-]+)`/g), ([, entry = ""]) =>
    entry.startsWith("/") ? `turnwright${entry}` : entry,
  );
  expect([...new Set(named)].sort()).toEqual([...specifiers].sort());
});

it.for(["llms.txt", "skills/turnwright/SKILL.md"])("%s: each name listed for an entry point is one of its exports", (path) => {
  const pairs = Array.from(
    readPage(path).matchAll(/`(\w+)(?:\([^`]*\))?` from\s+`(turnwright(?:\/[a-z-]+)?)`/g),
    ([, name = "", specifier = ""]) => ({ name, specifier }),
  );
  expect(pairs.length).toBeGreaterThan(0);
  const isExported = ({ name, specifier }: (typeof pairs)[number]): boolean => {
    const entry = entries.find((each) => each.specifier === specifier);
    return entry !== undefined && new RegExp(`^\\w+ ${name}$`, "m").test(readPage(`test/package/surface/${entry.name}.txt`));
  };
  expect(pairs.filter((pair) => !isExported(pair))).toEqual([]);
});

it("llms.txt: lists only exported names after the entry points of a task", () => {
  const names = Array.from(tasks.matchAll(/`: (.+)$/gm), ([, list = ""]) => list.split(", ")).flat();
  const calls = names.filter((name) => /^[a-z]+[A-Z]\w*(<\w+>\(\))?$/.test(name)).map((name) => name.replace(/<.*/, ""));
  const options = ["needsApproval"];
  expect(calls.length).toBeGreaterThan(50);
  expect(calls.filter((name) => !exported.has(name) && !options.includes(name))).toEqual([]);
});
