import { describe, expect, it } from "vitest";
import { restateJournal } from "turnwright/restate";
import { describeChecks } from "./checks.ts";
import { checks } from "./journal-checks.ts";

describeChecks("journalSuite with restateJournal", "journal-checks.ts", checks);

const isOld = Number.parseInt(process.versions.node, 10) < 22;

describe("restateJournal", () => {
  it(isOld ? "throws on Node 20 and names the required version of Node" : "throws without a context of Restate", () => {
    const message = isOld ? `needs Node 22 or later. This is Node ${process.version}.` : "with the context of a Restate workflow";
    expect(() => restateJournal(undefined as never)).toThrow(message);
  });
});
