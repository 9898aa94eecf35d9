import { describe, expect, it } from "vitest";
import type { FinishReason, ProviderErrorCode, EndReason } from "turnwright";
import { defaultRetryable } from "../../src/shared/errors/provider-error.ts";
import { judgeFinish } from "../../src/shared/judge-finish.ts";
import { scenarios } from "../loop/scenarios/all.ts";
import { finishReasons, loopErrorCodes, providerErrorCodes, statusByReason } from "./known-names.ts";
import { readNames, readPage, readRows, readSection, sorted } from "./read-page.ts";

const page = readPage("docs/concepts/endings.md");
const statuses = [...new Set(Object.values(statusByReason))];
const listed = statuses.flatMap((status) =>
  readRows(readSection(page, status)).map(([kind = ""]) => `${status} ${kind.replaceAll("`", "")}`),
);

describe("docs/concepts/endings.md", () => {
  it("lists every end reason once, under its status", () => {
    const known = Object.entries(statusByReason).map(([kind, status]) => `${status} ${kind}`);
    expect(sorted(listed)).toEqual(sorted(known));
  });

  it("lists exactly the end reasons that the tested scenarios reach", () => {
    const reached = new Set(scenarios.map(({ status, reason }) => `${status} ${reason}`));
    expect(sorted(listed)).toEqual(sorted(reached));
  });

  it("describes every end reason in four table cells", () => {
    const rows = statuses.flatMap((status) => readRows(readSection(page, status)));
    expect(rows.filter((cells) => cells.length !== 4 || cells.includes(""))).toEqual([]);
  });

  it("says for every provider error code whether the error is retryable by default", () => {
    const rows = readRows(readSection(page, "Provider error codes")).map(([code, , retryable]) => `${code} ${retryable}`);
    const known = Object.keys(providerErrorCodes).filter(isProviderErrorCode);
    expect(sorted(rows)).toEqual(sorted(known.map((code) => `\`${code}\` ${defaultRetryable(code) ? "yes" : "no"}`)));
  });

  it("names every code of a LoopError", () => {
    const named = readNames(readSection(page, "Errors before a run starts"));
    expect(named).toEqual(expect.arrayContaining(Object.keys(loopErrorCodes)));
  });
});

describe("docs/concepts/endings.md: finish reasons", () => {
  const rows = readRows(readSection(page, "How finish reasons map to endings"));

  it("lists every finish reason once", () => {
    expect(sorted(rows.map(([finish = ""]) => finish))).toEqual(
      sorted(Object.keys(finishReasons).map((finish) => `\`${finish}\``)),
    );
  });

  it.for(rows.map((cells) => [cells[0] ?? "", cells] as const))(
    "lists the end reasons that follow from the finish reason %s",
    ([, cells]) => {
      const [finish = "", withText = "", withNothing = "", withCalls = ""] = cells.map((cell) => cell.replaceAll("`", ""));
      if (!isFinishReason(finish)) throw new Error(`There is no finish reason "${finish}".`);
      const endingOf = (text: boolean, calls: boolean): RegExp => wordOf(judgeFinish(finish, { text, calls }).reason);
      const fromLeft = (cell: string, left: string): string => (cell.startsWith("the same") ? left : cell);
      expect(withText).toMatch(endingOf(true, false));
      expect(fromLeft(withNothing, withText)).toMatch(endingOf(false, false));
      expect(fromLeft(withCalls, fromLeft(withNothing, withText))).toMatch(endingOf(true, true));
    },
  );
});

function wordOf(reason: EndReason | undefined): RegExp {
  if (reason === undefined) return /next iteration|same iteration|the calls run/;
  return new RegExp(reason.kind === "provider-error" ? reason.error.code : reason.kind);
}

function isFinishReason(name: string): name is FinishReason {
  return Object.hasOwn(finishReasons, name);
}

function isProviderErrorCode(name: string): name is ProviderErrorCode {
  return Object.hasOwn(providerErrorCodes, name);
}
