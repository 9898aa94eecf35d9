import { describe, expect, it } from "vitest";
import type { FinishReason } from "../core/types/provider.ts";
import { isResent, judgeFinish, problemOf } from "./judge-finish.ts";

const all: readonly FinishReason[] = [
  "stop",
  "tool-calls",
  "length",
  "context-full",
  "refusal",
  "content-filter",
  "paused",
  "continue",
  "malformed-call",
  "error",
  "unknown",
];

const unmapped = (word: string): string =>
  `The model stopped for the unknown reason "${word}". Map it with the adapter's option "finishReasons": { "${word}": "stop" }.`;

describe("judgeFinish", () => {
  it.for<[finish: FinishReason | undefined, raw: string | undefined, message: string]>([
    ["error", undefined, "The model ended with an error."],
    ["error", "SAFETY", "The model ended with an error (SAFETY)."],
    ["unknown", undefined, "The model stopped for an unknown reason."],
    ["unknown", "OTHER", unmapped("OTHER")],
    ["end_turn" as "stop", undefined, unmapped("end_turn")],
    ["toString" as "stop", "raw", unmapped("raw")],
    [undefined, undefined, "The stream ended without a finish reason."],
  ])("returns an error for the finish reason %j with the raw reason %j", ([finish, raw, message]) => {
    expect(judgeFinish(finish, { text: true, calls: false }, raw)).toMatchObject({
      status: "error",
      reason: { kind: "provider-error", error: { message } },
    });
  });

  it('rejects the finish reason "stop" for a message with calls, and suggests "tool-calls"', () => {
    expect(judgeFinish("stop", { text: true, calls: true }).reason).toMatchObject({
      error: {
        code: "finish-unknown",
        message: expect.stringContaining('The provider must use "tool-calls" instead'),
      },
    });
  });

  it.for<[says: string, judge: (finish: FinishReason) => unknown, reasons: readonly FinishReason[]]>([
    ['isResent() returns true only for "paused" and "continue"', isResent, ["paused", "continue"]],
    [
      'problemOf() returns "truncated" only for "length" and "context-full"',
      (finish) => problemOf(finish) === "truncated",
      ["length", "context-full"],
    ],
    [
      'problemOf() returns "malformed" only for "malformed-call"',
      (finish) => problemOf(finish) === "malformed",
      ["malformed-call"],
    ],
    [
      'returns the status "tool-calls" only for finish reasons that allow calls',
      (finish) => judgeFinish(finish, { text: false, calls: true }).status === "tool-calls",
      ["tool-calls", "length", "context-full", "malformed-call"],
    ],
  ])("%s", ([, judge, reasons]) => {
    expect(all.filter(judge)).toEqual(reasons);
  });
});
