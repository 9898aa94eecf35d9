// The page of endings is complete: the compiler knows every kind, and the scenarios reach every one of them.

import { describe, expect, it } from "vitest";
import type { FinishReason, LoopErrorCode, LoopStatus, ProviderErrorCode, StreamResult, Termination } from "turnwright";
import { defaultRetryable } from "../../src/errors/provider-error.ts";
import { judgeFinish } from "../../src/state/judge-finish.ts";
import { scenarios } from "../loop/scenarios.ts";
import { readNames, readPage, readRows, readSection } from "./read-page.ts";

/** Under which status each reason stands. A kind without a line does not compile. */
const statuses = {
  answered: "completed",
  "end-turn": "completed",
  length: "completed",
  refusal: "completed",
  "content-filter": "completed",
  "provider-error": "error",
  "malformed-call": "error",
  "tool-error-cap": "error",
  "restart-cap": "error",
  "max-tokens": "error",
  "max-tool-calls": "error",
  "max-pauses": "error",
  "hook-failed": "error",
  "fatal-tool-error": "error",
  "max-iterations": "timeout",
  "stream-idle": "timeout",
  "first-chunk": "timeout",
  "wall-clock": "timeout",
  empty: "empty_response",
  stopped: "stopped_by_user",
  killed: "stopped_by_user",
  aborted: "stopped_by_user",
  "iteration-abort": "stopped_by_user",
} satisfies Record<Termination["kind"], LoopStatus>;

const finishReasons = {
  stop: true,
  "tool-calls": true,
  length: true,
  "context-full": true,
  refusal: true,
  "content-filter": true,
  "malformed-call": true,
  paused: true,
  continue: true,
  error: true,
  unknown: true,
} satisfies Record<FinishReason, true>;

const providerErrorCodes = {
  "stream-ended-early": true,
  "finish-error": true,
  "finish-unknown": true,
  "no-output": true,
  auth: true,
  "rate-limit": true,
  overloaded: true,
  "bad-request": true,
  "context-too-long": true,
  network: true,
  server: true,
} satisfies Record<ProviderErrorCode, true>;

const loopErrorCodes = {
  "invalid-option": true,
  "unknown-option": true,
  "invalid-messages": true,
  "duplicate-tool": true,
  "invalid-tool": true,
  "invalid-schema": true,
  "already-running": true,
  "journal-mismatch": true,
  "tools-changed": true,
} satisfies Record<LoopErrorCode, true>;

const page = readPage("docs/concepts/endings.md");
const listed = [...new Set(Object.values(statuses))].flatMap((status) =>
  readRows(readSection(page, status)).map(([kind = ""]) => `${status} ${kind.replaceAll("`", "")}`),
);

describe("the page of endings", () => {
  it("lists every reason, each under its status, and each once", () => {
    const known = Object.entries(statuses).map(([kind, status]) => `${status} ${kind}`);
    expect(listed.toSorted()).toEqual(known.toSorted());
  });

  it("lists what runs end with, and nothing else", () => {
    const reached = new Set(scenarios.map(({ status, reason }) => `${status} ${reason}`));
    expect(listed.toSorted()).toEqual([...reached].toSorted());
  });

  it("says of every reason when it comes, what is kept and what to do", () => {
    const rows = Object.values(statuses).flatMap((status) => readRows(readSection(page, status)));
    expect(rows.filter((cells) => cells.length !== 4 || cells.includes(""))).toEqual([]);
  });

  it("lists every code of a provider error, and whether it is retryable by default", () => {
    const rows = readRows(readSection(page, "Codes of a provider error")).map(([code, , retryable]) => `${code} ${retryable}`);
    const known = Object.keys(providerErrorCodes).filter(isProviderErrorCode);
    expect(rows.toSorted()).toEqual(known.map((code) => `\`${code}\` ${defaultRetryable(code) ? "yes" : "no"}`).toSorted());
  });

  it("names every code of a LoopError", () => {
    const named = readNames(readSection(page, "Refused before it starts"));
    expect(named).toEqual(expect.arrayContaining(Object.keys(loopErrorCodes)));
  });
});

describe("the table of finish reasons", () => {
  const rows = readRows(readSection(page, "From finish reason to ending"));

  it("lists every finish reason once", () => {
    expect(rows.map(([finish]) => finish).toSorted()).toEqual(
      Object.keys(finishReasons)
        .map((finish) => `\`${finish}\``)
        .toSorted(),
    );
  });

  it.for(rows.map((cells) => [cells[0] ?? "", cells] as const))("says of %s what the loop makes of it", ([, cells]) => {
    const [finish = "", withText = "", withNothing = "", withCalls = ""] = cells.map((cell) => cell.replaceAll("`", ""));
    const judge = (text: boolean, calls: boolean): StreamResult["reason"] => {
      if (!isFinishReason(finish)) throw new Error(`There is no finish reason "${finish}".`);
      return judgeFinish(finish, { text, calls }).reason;
    };
    expect(withText).toContain(wordOf(judge(true, false)));
    if (withNothing !== "the same") expect(withNothing).toContain(wordOf(judge(false, false)));
    if (!withCalls.startsWith("the same")) expect(withCalls).toContain(wordOf(judge(true, true)));
  });
});

/** The word by which a cell tells this ending; an empty one where the run goes on. */
function wordOf(reason: Termination | undefined): string {
  if (reason === undefined) return "";
  return reason.kind === "provider-error" ? reason.error.code : reason.kind;
}

function isFinishReason(name: string): name is FinishReason {
  return Object.hasOwn(finishReasons, name);
}

function isProviderErrorCode(name: string): name is ProviderErrorCode {
  return Object.hasOwn(providerErrorCodes, name);
}
