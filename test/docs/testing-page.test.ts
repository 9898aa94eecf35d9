import { expect, it } from "vitest";
import * as kit from "turnwright/testing";
import type { MockPart } from "turnwright/testing";
import type { MockOptions } from "../../src/testing/mock-provider.ts";
import type { ReplayOptions } from "../../src/testing/cassettes/replay-from.ts";
import { readNames, readPage, readRows, readSection, sorted } from "./read-page.ts";

const section = readSection(readPage("docs/guides/testing.md"), "A scripted model");
const rows = readRows(section).map(([cell = ""]) => readNames(cell));

const options: { readonly [Name in keyof Required<MockOptions>]: true } = {
  id: true,
  model: true,
  family: true,
  compacts: true,
  usage: true,
  record: true,
};

/** A maker is a function that creates a part of a scripted message. */
const isMaker = ([name, make]: readonly [string, unknown]): boolean => {
  if (typeof make !== "function" || /^(?:create|expect|run|record|replay|strict|[a-zA-Z]+Suite)/.test(name)) return false;
  // A maker of a part without text takes only options.
  const parts = [["x", {}], [{}]].flatMap((args) => {
    try {
      return [Reflect.apply(make, undefined, args) as unknown];
    } catch {
      return [];
    }
  });
  const [part] = parts;
  return typeof part === "object" && part !== null && "kind" in (part as MockPart);
};

it("docs/guides/testing.md: lists every part of a scripted message once", () => {
  const listed = rows.flatMap((names) => names.filter((name) => name.includes("(")).map((name) => name.replace(/\(.*/, "")));
  const makers = Object.entries(kit).filter(isMaker);
  expect(sorted(listed)).toEqual(sorted(makers.map(([name]) => name)));
});

it("docs/guides/testing.md: lists every option of createMockProvider once", () => {
  const listed = rows.flatMap((names) => (names[0]?.includes("(") === false ? names : []));
  expect(listed).toEqual(Object.keys(options));
});

it("docs/guides/testing.md: lists every option of replayFrom once", () => {
  const known: { readonly [Name in keyof Required<ReplayOptions>]: true } = { match: true, timing: true, onTornLine: true };
  const listed = readRows(readSection(readPage("docs/guides/testing.md"), "Record and replay with cassettes")).flatMap(
    ([cell = ""]) => readNames(cell),
  );
  expect(listed).toEqual(Object.keys(known));
});
