import { expect, it } from "vitest";
import { readPage } from "./read-page.ts";

const readme = readPage("README.md");
const prose = readme
  .replaceAll(/^```[\s\S]*?^```$/gm, "")
  .replaceAll(/^!\[.*$/gm, "")
  .replaceAll(/<!--.*?-->/g, "");

it("README.md has at most 900 words outside its programs", () => {
  expect(prose.split(/\s+/).length).toBeLessThanOrEqual(900);
});

it("README.md lists at most 12 tasks", () => {
  const [, tasks = ""] = readme.split("## I want to ...");
  expect(tasks.match(/^\| (?!Task|---)/gm)?.length).toBeLessThanOrEqual(12);
});

it("README.md shows the four promises before its first program", () => {
  const [start = ""] = readme.split("```ts");
  const promises = ["It always ends.", "It says why.", "It loses nothing.", "It resumes anywhere."];
  const places = promises.map((promise) => start.indexOf(`**${promise}**`));
  expect(places.every((place) => place > 0)).toBe(true);
  expect(places).toEqual([...places].sort((a, b) => a - b));
});
