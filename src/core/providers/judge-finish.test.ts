import { describe, expect, it } from "vitest";
import type { FinishReason } from "../types/provider.ts";
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
  `The model ended for an unknown reason, "${word}". Map it with the option "finishReasons" of the adapter: { "${word}": "stop" }.`;

describe("a finish reason", () => {
  it.for<[finish: FinishReason | undefined, raw: string | undefined, message: string]>([
    ["error", undefined, "The model ended with an error."],
    ["error", "SAFETY", "The model ended with an error (SAFETY)."],
    ["unknown", undefined, "The model ended for an unknown reason."],
    ["unknown", "OTHER", unmapped("OTHER")],
    ["end_turn" as "stop", undefined, unmapped("end_turn")],
    ["toString" as "stop", "raw", unmapped("raw")],
    [undefined, undefined, "The stream ended without a finish reason."],
  ])("%s (%s) says why", ([finish, raw, message]) => {
    expect(judgeFinish(finish, { text: true, calls: false }, raw)).toMatchObject({
      status: "error",
      reason: { kind: "provider-error", error: { message } },
    });
  });

  it("stop, with calls, names what the provider has to say instead", () => {
    expect(judgeFinish("stop", { text: true, calls: true }).reason).toMatchObject({
      error: {
        code: "finish-unknown",
        message: expect.stringContaining('gives the finish "tool-calls" where its turn has calls'),
      },
    });
  });

  it.for<[says: string, judge: (finish: FinishReason) => unknown, reasons: readonly FinishReason[]]>([
    ["resends the turn", isResent, ["paused", "continue"]],
    ["cuts the calls of the turn off", (finish) => problemOf(finish) === "truncated", ["length", "context-full"]],
    ["makes the calls of the turn malformed", (finish) => problemOf(finish) === "malformed", ["malformed-call"]],
    [
      "lets a turn with calls go on",
      (finish) => judgeFinish(finish, { text: false, calls: true }).status === "tool-calls",
      ["tool-calls", "length", "context-full", "malformed-call"],
    ],
  ])("%s: only some do", ([, judge, reasons]) => {
    expect(all.filter(judge)).toEqual(reasons);
  });
});
