import { describe, expect, it } from "vitest";
import { showControls } from "../../src/inspect/format.ts";

describe("showControls", () => {
  const hidden: readonly (readonly [code: string, character: string])[] = [
    ["001B", "\u001b"],
    ["00AD", "\u00ad"],
    ["034F", "\u034f"],
    ["115F", "\u115f"],
    ["180E", "\u180e"],
    ["200B", "\u200b"],
    ["200D", "\u200d"],
    ["202E", "\u202e"],
    ["2028", "\u2028"],
    ["2064", "\u2064"],
    ["3164", "\u3164"],
    ["FE0F", "\ufe0f"],
    ["FEFF", "\ufeff"],
    ["FFA0", "\uffa0"],
    ["E0041", "\u{e0041}"],
    ["E0100", "\u{e0100}"],
    ["1D173", "\u{1d173}"],
  ];

  it.for(hidden)("shows the invisible character U+%s as a code point", ([code, character]) => {
    expect(showControls(`a${character}b`)).toBe(`a‹U+${code}›b`);
  });

  it.for(["tab\tand\nline", "❤️ and 1️⃣", "👩‍💻👨‍👩‍👧 👍🏽 🏳️‍🌈", "می\u200cخواهم", "क्\u200dष", "naïve 日本語 🇳🇴"])(
    "keeps the ordinary text %j",
    (text) => {
      expect(showControls(text)).toBe(text);
    },
  );
});
