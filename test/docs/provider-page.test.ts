import { expect, it } from "vitest";
import { chunkFields, finishReasons, requestFields } from "./known-names.ts";
import { readNames, readPage, readRows, readSection, sorted } from "./read-page.ts";

const page = readPage("docs/provider-protocol.md");
const firstNames = (section: string): readonly string[] =>
  readRows(readSection(page, section)).map(([cell = ""]) => readNames(cell)[0] ?? "");

it("docs/provider-protocol.md: lists every chunk once, with its fields", () => {
  const listed = readRows(readSection(page, "The chunks")).map(([type = "", fields = ""]) => [
    readNames(type)[0],
    readNames(fields),
  ]);
  expect(listed).toEqual(Object.entries(chunkFields).map(([type, fields]) => [type, Object.keys(fields)]));
});

it("docs/provider-protocol.md: lists every field of a request once", () => {
  expect(firstNames("The request")).toEqual(Object.keys(requestFields));
});

it("docs/provider-protocol.md: lists every finish reason once", () => {
  expect(sorted(firstNames("Finish reasons"))).toEqual(sorted(Object.keys(finishReasons)));
});
