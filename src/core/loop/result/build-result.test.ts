import { describe, expect, it } from "vitest";
import type { Session } from "../../types/common.ts";
import { memoryJournal } from "../../journal/memory-journal.ts";
import { createLoopState, type LoopState } from "../state/loop-state.ts";
import { buildResult } from "./build-result.ts";

function resultOf(state: Partial<LoopState>, session: Session = {}): ReturnType<typeof buildResult> {
  const blank = createLoopState({ messages: [], heldIds: [], contextItems: [], priced: false });
  return buildResult(
    { ...blank, ...state },
    { ending: { status: "completed", reason: { kind: "answered" } }, runId: "r", journal: memoryJournal(), session },
  );
}

describe("buildResult: responseText", () => {
  it.for<[finalText: string, detailsText: string, label: string | undefined, responseText: string]>([
    ["Hello. \n", "", undefined, "Hello."],
    ["Hello.", " \n", undefined, "Hello."],
    ["Hello.", " Night.\n", undefined, "Hello.\n\nNight."],
    ["Hello.", "Night.", "Scene:", "Hello.\n\nScene:\nNight."],
    ["", "Night.", undefined, "Night."],
    [" ", "", undefined, ""],
  ])("%s", ([finalText, detailsText, detailsLabel, responseText]) => {
    const result = resultOf({ finalText, detailsText }, { detailsLabel });
    expect([result.responseText, result.text, result.details]).toEqual([responseText, finalText.trim(), detailsText.trim()]);
  });
});

describe("buildResult: thoughtLogOwner", () => {
  it.for<[responseTarget: Session["responseTarget"], owner: object]>([
    [undefined, { kind: "default", name: undefined }],
    [
      { kind: "default", name: "Tomo" },
      { kind: "default", name: "Tomo" },
    ],
    [{ kind: "user" }, { kind: "user", name: undefined }],
    [
      { kind: "persona", name: "Mira" },
      { kind: "persona", name: "Mira" },
    ],
  ])("equals the response target (%s)", ([responseTarget, owner]) => {
    expect(resultOf({ thoughtLog: { mood: "calm" } }, { responseTarget }).thoughtLogOwner).toEqual(owner);
  });

  it("is undefined if the run has no thought log", () => {
    expect(resultOf({}, { responseTarget: { kind: "persona" } }).thoughtLogOwner).toBeUndefined();
  });

  it("is set even if the thought log is null", () => {
    expect(resultOf({ thoughtLog: null }).thoughtLogOwner).toEqual({ kind: "default", name: undefined });
  });
});
