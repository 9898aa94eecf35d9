import { describe, expect, it } from "vitest";
import { parseTrigger, readText } from "./trigger-table.ts";

function find(trigger: string, text: string): string | undefined {
  const parsed = parseTrigger(trigger);
  if (parsed.kind === "refused") throw new Error(`${trigger} ${parsed.problem}`);
  return parsed.find(readText(text), { steps: 1 });
}

const none = undefined;

describe("parseTrigger with a literal trigger", () => {
  it.for<[trigger: string, text: string, match: string | undefined]>([
    ["remind me", "Please remind me at six.", "remind me"],
    ["remind me", "REMIND Me", "REMIND Me"],
    ["Remind Me", "remind me", "remind me"],
    ["remind me", "remind  \n\tme", "remind  \n\tme"],
    ["  remind \n me ", "remind me", "remind me"],
    ["remind me", "remind\u00a0me", "remind\u00a0me"],
    ["remind me", "remindme", none],
    ["remind", "reminder", none],
    ["mind", "remind", none],
    ["remind", "remind_me", none],
    ["remind", "remind7", none],
    ["remind", "(remind)", "remind"],
    ["remind", "re-remind-er", "remind"],
    ["remind", "unremind, remind", "remind"],
    ["straße", "an der STRASSE", none],
    ["straße", "die Straße 7", "Straße"],
    ["uber", "über", none],
    ["λόγος", "ΛΌΓΟΣ", "ΛΌΓΟΣ"],
    ["напомни", "Напомни мне", "Напомни"],
    ["напомни", "напомнить", none],
    ["cafe\u0301", "Caf\u00e9?", "Caf\u00e9"],
    ["caf\u00e9", "cafe\u0301", "caf\u00e9"],
    ["cafe", "cafe\u0301", none],
    ["x", "x\u0301", none],
    ["x", "x\u3099", none],
    ["e\u0323", "e\u0323\u0302", none],
    // Next to a symbol at the beginning or end of a trigger, any character may stand.
    ["c++", "my c++17 code", "c++"],
    ["!roll", "ok!roll it", "!roll"],
    ["c++", "abc++", none],
    ["❤", "I❤️it", "❤"],
    ["/remind", "x/remind me", "/remind"],
    ["/remind", "/reminder", none],
    // Without slashes, regular expression syntax is plain text.
    ["a.c (x|y)?", "abc x", none],
    ["a.c (x|y)?", "a.c (x|y)?", "a.c (x|y)?"],
    ["$5 [a-z] {2} \\d", "for $5 [a-z] {2} \\d", "$5 [a-z] {2} \\d"],
    // In scripts without spaces, a trigger matches in the middle of a text.
    ["提醒", "请提醒我", "提醒"],
    ["リマインダー", "明日リマインダーを設定", "リマインダー"],
    ["ー", "リマインダー", "ー"],
    ["เตือน", "ช่วยเตือนฉัน", "เตือน"],
    ["ม", "ม้า", none],
    ["remind me", "请remind me吧", "remind me"],
    ["remind", "请reminder吧", none],
    ["提醒me", "请提醒me吧", "提醒me"],
    ["提醒me", "提醒men", none],
    // Korean separates words with spaces, so a word with a suffix is not the trigger's word.
    ["알림", "알림 설정", "알림"],
    ["알림", "알림을 설정", none],
  ])("given the trigger %j and the text %j, finds %j", ([trigger, text, match]) => {
    expect(find(trigger, text)).toBe(match);
    expect(parseTrigger(trigger)).toMatchObject({ source: "literal" });
  });
});

describe("parseTrigger with a stem trigger", () => {
  it.for<[trigger: string, text: string, match: string | undefined]>([
    ["remind*", "Reminding you", "Reminding"],
    ["remind*", "remind", "remind"],
    ["remind*", "unreminded", none],
    ["remind*", "remind-er", "remind"],
    ["set remind*", "set  reminders!", "set  reminders"],
    ["set remind*", "sets reminders", none],
    ["알림*", "알림을 설정", "알림을"],
    ["cafe*", "cafe\u0301s", none],
    ["caf*", "cafe\u0301s x", "caf\u00e9s"],
    ["提醒*", "请提醒我", "提醒"],
    ["c++*", "c++17 x", "c++17"],
  ])("given the trigger %j and the text %j, finds %j", ([trigger, text, match]) => {
    expect(find(trigger, text)).toBe(match);
    expect(parseTrigger(trigger)).toMatchObject({ source: "stem" });
  });
});

describe("parseTrigger with a regular expression", () => {
  it.for<[trigger: string, text: string, match: string | undefined]>([
    ["/remind(er)?s?/i", "My Reminders", "Reminders"],
    ["/remind/", "Remind", none],
    ["/^go$/m", "stop\ngo", "go"],
    ["/a.b/s", "a\nb", "a\nb"],
    ["/\\p{Lu}+/u", "xÄÖ", "ÄÖ"],
    ["/a/b/", "a/b", "a/b"],
    ["/caf\u00e9/", "cafe\u0301", "caf\u00e9"],
    ["/cafe\u0301$/", "caf\u00e9", "caf\u00e9"],
  ])("given the trigger %j and the text %j, finds %j", ([trigger, text, match]) => {
    expect(find(trigger, text)).toBe(match);
    expect(parseTrigger(trigger)).toMatchObject({ source: "regex" });
  });
});

it('parseTrigger: the trigger "^" matches every text, with an empty match', () => {
  expect([find("^", "anything"), find(" ^ ", ""), parseTrigger("^")]).toMatchObject(["", "", { source: "always" }]);
});

it.for<[trigger: string, problem: string | RegExp]>([
  ["", "is empty"],
  [" \n ", "is empty"],
  ["//", "is empty"],
  ["//i", "is empty"],
  ["/a/g", 'has the flag "g"; use only i, m, s and u'],
  ["/usr/bin", 'has the flag "b"; use only i, m, s and u'],
  ["/a/ii", 'has the flag "i" twice'],
  ["/(/", /^cannot be read: /],
  ["/(?=a)/", "cannot be run in linear time: remove lookaround and backreferences, and use at most 1,000 repetitions"],
  ["*", 'has a "*" that is not at the end of its last word'],
  ["remind *", 'has a "*" that is not at the end of its last word'],
  ["re* me", 'has a "*" that is not at the end of its last word'],
  ["remind**", 'has a "*" that is not at the end of its last word'],
  ["*mind", 'has a "*" that is not at the end of its last word'],
  ["a".repeat(501), "is longer than 500 characters"],
  [`/${"a".repeat(499)}/`, "is longer than 500 characters"],
])("parseTrigger: rejects the trigger $0", ([trigger, problem]) => {
  expect(parseTrigger(trigger)).toEqual({
    kind: "refused",
    problem: typeof problem === "string" ? problem : expect.stringMatching(problem),
  });
});

describe("readText", () => {
  it("keeps only the first 16,384 characters of a string", () => {
    const blank = " ".repeat(16_380);
    expect(find("stop", `${blank}stop`)).toBe("stop");
    expect(find("stop", `${blank} stop`)).toBeUndefined();
  });

  it("keeps at most 30 combining marks per letter", () => {
    expect(readText(`a${"\u0301\u0323".repeat(8_000)}b`)).toHaveLength(31);
    expect(readText(`x${"\u0323".repeat(30)}`)).toHaveLength(31);
    expect(readText(`x${"\u0323".repeat(31)}y`)).toBe(`x${"\u0323".repeat(30)}y`);
  });
});
