import { expect, it } from "vitest";
import { mediaRows, mediaWires, outcomeOf } from "../wire/media-cells.ts";
import { readPage, readSection, readTable } from "./read-page.ts";

it("docs/media.md: shows the outcome of every media kind for each provider API", () => {
  const section = readSection(readPage("docs/media.md"), "What each adapter sends");
  const played = mediaRows.map((row) => [row.kind, ...mediaWires.map((wire) => outcomeOf(row, wire, "user"))]);
  expect(readTable(section)).toEqual(played);
});
