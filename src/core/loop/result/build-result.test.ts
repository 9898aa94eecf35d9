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
  it.for<[title: string, finalText: string, detailsText: string, label: string | undefined, responseText: string]>([
    ["is the trimmed text if there are no details", "Hello. \n", "", undefined, "Hello."],
    ["ignores blank details", "Hello.", " \n", undefined, "Hello."],
    ["is the text and the details, with a blank line between them", "Hello.", " Night.\n", undefined, "Hello.\n\nNight."],
    ["contains detailsLabel before the details", "Hello.", "Night.", "Scene:", "Hello.\n\nScene:\nNight."],
    ["contains only the details if there is no text", "", "Night.", undefined, "Night."],
    ["is empty if text and details are blank", " ", "", undefined, ""],
  ])("%s", ([, finalText, detailsText, detailsLabel, responseText]) => {
    const result = resultOf({ finalText, detailsText }, { detailsLabel });
    expect([result.responseText, result.text, result.details]).toEqual([responseText, finalText.trim(), detailsText.trim()]);
  });
});

describe("buildResult: thoughtLogOwner", () => {
  it.for<[title: string, responseTarget: Session["responseTarget"], owner: object]>([
    ['has the kind "default" if the session has no responseTarget', undefined, { kind: "default", name: undefined }],
    [
      'has the name of a responseTarget whose kind is "default"',
      { kind: "default", name: "Tomo" },
      { kind: "default", name: "Tomo" },
    ],
    ["is the user if the user is the responseTarget", { kind: "user" }, { kind: "user", name: undefined }],
    ["is the persona if a persona is the responseTarget", { kind: "persona", name: "Mira" }, { kind: "persona", name: "Mira" }],
  ])("%s", ([, responseTarget, owner]) => {
    expect(resultOf({ thoughtLog: { mood: "calm" } }, { responseTarget }).thoughtLogOwner).toEqual(owner);
  });

  it("is undefined if the run has no thought log", () => {
    expect(resultOf({}, { responseTarget: { kind: "persona" } }).thoughtLogOwner).toBeUndefined();
  });

  it("is set even if the thought log is null", () => {
    expect(resultOf({ thoughtLog: null }).thoughtLogOwner).toEqual({ kind: "default", name: undefined });
  });
});
