import { describe, expect, it } from "vitest";
import { isLoopError } from "../../shared/errors/loop-error.ts";
import { createDeliberateMode, type DeliberateMode, type DeliberateModeOptions, type DeliberateTurn } from "./deliberate-mode.ts";

const triggers: DeliberateModeOptions["triggers"] = {
  set_reminder: ["remind me", "reminder*"],
  search: "/look (?:it |that )?up/i",
  get_time: "^",
};
const always = ["get_time", { trigger: "^", match: "", source: "always" }] as const;

function judge(mode: DeliberateMode, turn: DeliberateTurn): string {
  const { active, allowedNames, triggerMatchByToolName } = mode.forTurn(turn);
  expect([active, [...allowedNames]]).toEqual([true, [...triggerMatchByToolName.keys()]]);
  return [...triggerMatchByToolName]
    .filter(([, { source }]) => source !== "always")
    .map(([name, { trigger, match, source }]) => `${name}: ${source} ${trigger} "${match}"`)
    .join(", ");
}

describe("createDeliberateMode", () => {
  it("allows each tool with a matching trigger, and reports the tool's first matching trigger", () => {
    const mode = createDeliberateMode({ triggers });
    const { triggerMatchByToolName, allowedNames } = mode.forTurn({ text: "Reminders: look it up and remind me." });
    expect([...triggerMatchByToolName]).toEqual([
      ["set_reminder", { trigger: "remind me", match: "remind me", source: "literal" }],
      ["search", { trigger: "/look (?:it |that )?up/i", match: "look it up", source: "regex" }],
      always,
    ]);
    expect(allowedNames).toEqual(new Set(["set_reminder", "search", "get_time"]));
    expect(judge(mode, { text: "Reminders?" })).toBe('set_reminder: stem reminder* "Reminders"');
    expect(judge(mode, { text: "hello" })).toBe("");
  });

  it("allows no tool if no trigger matches", () => {
    for (const options of [{ triggers: {} }, { triggers: { search: [] } }, { triggers: { search: "look" } }]) {
      expect(createDeliberateMode(options).forTurn({ text: "hello" }).allowedNames.size).toBe(0);
    }
  });

  it("lists invalid triggers in problems and uses the valid triggers", () => {
    const mode = createDeliberateMode({
      triggers: { search: ["", "/(?=x)/", "look"], get_time: "/a/g" },
      followUps: ["!?", "encore"],
    });
    expect(mode.problems).toEqual([
      { toolName: "search", trigger: "", problem: "is empty" },
      {
        toolName: "search",
        trigger: "/(?=x)/",
        problem: "cannot be run in linear time: remove lookaround and backreferences, and use at most 1,000 repetitions",
      },
      { toolName: "get_time", trigger: "/a/g", problem: 'has the flag "g"; use only i, m, s and u' },
      { toolName: undefined, trigger: "!?", problem: "contains no word" },
    ]);
    expect(judge(mode, { text: "look", recent: [] })).toBe('search: literal look "look"');
    expect(judge(mode, { text: "Encore!", recent: ["look"] })).toBe('search: follow-up look "look"');
    expect(createDeliberateMode({ triggers }).problems).toEqual([]);
  });

  it("reports at most 200 characters of a match", () => {
    const { triggerMatchByToolName } = createDeliberateMode({ triggers: { a: "/x+/" } }).forTurn({ text: "x".repeat(900) });
    expect(triggerMatchByToolName.get("a")?.match).toBe(`${"x".repeat(200)}…`);
  });

  it("accepts __proto__ and constructor as tool names and conversation ids", () => {
    const mode = createDeliberateMode({ triggers: JSON.parse('{"__proto__":"dunder","constructor":"build"}') });
    expect(judge(mode, { text: "build a dunder" })).toBe(
      '__proto__: literal dunder "dunder", constructor: literal build "build"',
    );
    expect(judge(mode, { text: "toString" })).toBe("");
    for (const conversationId of ["__proto__", "constructor"]) {
      expect(judge(mode, { text: "hello", conversationId })).toBe("");
      mode.forTurn({ text: "dunder", conversationId }).retain("__proto__");
      expect(judge(mode, { text: "hello", conversationId })).toBe('__proto__: retained dunder "dunder"');
    }
  });
});

describe("createDeliberateMode: slow regular expressions", () => {
  const slow = Object.fromEntries(Array.from({ length: 12 }, (_, index) => [`t${index}`, `/.{0,49${index % 10}}z/`]));
  const texts = Array.from({ length: 20 }, () => "a".repeat(4_096));

  it("are skipped after a time limit, unlike phrases", () => {
    const mode = createDeliberateMode({ triggers: { ...slow, last: "again", search: "look" } });
    const gate = mode.forTurn({ text: "again", recent: ["look", ...texts.slice(1)] });
    expect([...gate.allowedNames]).toEqual(["last", "search"]);
    expect(gate.unsearched.length).toBeGreaterThan(0);
    expect(new Set([...Object.values(slow), ...gate.unsearched]).size).toBe(10);
    expect(mode.forTurn({ text: "a" }).unsearched).toEqual([]);
  });
});

describe("createDeliberateMode: follow-ups", () => {
  const recent = ["look it up", "remind me to eat", "thanks"];
  const asked = 'set_reminder: follow-up remind me "remind me"';

  it.for<[what: string, text: string, exposed: string]>([
    ["repeat the last request", "do it again", asked],
    ["repeat the last request", "Do it AGAIN, please!", asked],
    ["repeat the last request", "  …again?? ", asked],
    ["repeat the last request", "one more", asked],
    ["repeat the last request", "once more", asked],
    ["repeat the last request", "same again", asked],
    ["repeat nothing", "I'll never do it again", ""],
    ["repeat nothing", "againx", ""],
    ["repeat nothing", "", ""],
    ["repeat nothing", "!", ""],
  ])("%s if the text is %j", ([, text, exposed]) => {
    expect(judge(createDeliberateMode({ triggers }), { text, recent })).toBe(exposed);
  });

  it.for<[what: string, recent: readonly string[] | undefined, exposed: string]>([
    [
      "the newest text that matched a trigger",
      ["remind me", "look up", "do it again"],
      'search: follow-up /look (?:it |that )?up/i "look up"',
    ],
    ["nothing if no text matched a trigger", ["hello"], ""],
    ["nothing without recent texts", undefined, ""],
    ["the 20th most recent text", ["remind me", ...Array.from({ length: 19 }, () => "hm")], asked],
    ["nothing older than the 20th most recent text", ["remind me", ...Array.from({ length: 20 }, () => "hm")], ""],
  ])("repeat %s", ([, texts, exposed]) => {
    expect(judge(createDeliberateMode({ triggers }), { text: "again", recent: texts })).toBe(exposed);
  });

  it("use the phrases in the followUps option instead of the English phrases", () => {
    const mode = createDeliberateMode({ triggers, followUps: ["Noch einmal", "もう一度", "cafe\u0301"] });
    expect(["noch EINMAL!", "もう一度。", "Café", "again"].map((text) => judge(mode, { text, recent }))).toEqual([
      asked,
      asked,
      asked,
      "",
    ]);
    expect(judge(createDeliberateMode({ triggers, followUps: [] }), { text: "again", recent })).toBe("");
  });

  it("rank below direct triggers and above retained tools", () => {
    const mode = createDeliberateMode({ triggers: { a: "again", b: "bee", c: "sea" } });
    const first = mode.forTurn({ conversationId: "1", text: "bee, sea" });
    first.retain("b");
    first.retain("c");
    expect(judge(mode, { conversationId: "1", text: "again", recent: ["bee again"] })).toBe(
      'a: literal again "again", b: follow-up bee "bee", c: retained sea "sea"',
    );
  });
});

describe("createDeliberateMode: retainTurns", () => {
  const kept = 'set_reminder: retained remind me "remind me"';
  const say = (mode: DeliberateMode, count: number, conversationId = "1"): readonly string[] =>
    Array.from({ length: count }, () => judge(mode, { conversationId, text: "hm" }));
  const ask = { conversationId: "1", text: "remind me" };

  it.for<[retainTurns: number | undefined, turns: number]>([
    [undefined, 4],
    [0, 0],
    [1, 1],
    [10, 10],
  ])("set to %s, keeps a tool for %d turn(s) after a successful call", ([retainTurns, turns]) => {
    const mode = createDeliberateMode({ triggers, retainTurns });
    mode.forTurn(ask).retain("set_reminder");
    expect(say(mode, turns + 2)).toEqual([...Array.from({ length: turns }, () => kept), "", ""]);
  });

  it("does not keep a tool that was not allowed", () => {
    const mode = createDeliberateMode({ triggers });
    mode.forTurn(ask).retain("search");
    expect(say(mode, 1)).toEqual([""]);
  });

  it("restarts the count of turns after each success, even of a retained tool", () => {
    const mode = createDeliberateMode({ triggers, retainTurns: 2 });
    mode.forTurn(ask).retain("set_reminder");
    expect(say(mode, 1)).toEqual([kept]);
    mode.forTurn({ conversationId: "1", text: "hm" }).retain("set_reminder");
    expect(say(mode, 3)).toEqual([kept, kept, ""]);
  });

  it("does not replace the direct match of a tool that is also retained", () => {
    const mode = createDeliberateMode({ triggers });
    mode.forTurn(ask).retain("set_reminder");
    expect(judge(mode, { ...ask, text: "my reminders" })).toBe('set_reminder: stem reminder* "reminders"');
  });

  it("counts from the turn of the call, even if the call succeeds in a later turn", () => {
    const mode = createDeliberateMode({ triggers, retainTurns: 3 });
    const slow = mode.forTurn(ask);
    expect(say(mode, 1)).toEqual([""]);
    slow.retain("set_reminder");
    expect(say(mode, 3)).toEqual([kept, kept, ""]);
    slow.retain("set_reminder");
    expect(say(mode, 1)).toEqual([""]);
  });

  it("counts from the latest turn with a successful call, even if an earlier call succeeds later", () => {
    const mode = createDeliberateMode({ triggers, retainTurns: 2 });
    const slow = mode.forTurn(ask);
    mode.forTurn(ask).retain("set_reminder");
    slow.retain("set_reminder");
    expect(say(mode, 3)).toEqual([kept, kept, ""]);
  });

  it("applies only to turns with the same conversationId", () => {
    const mode = createDeliberateMode({ triggers });
    mode.forTurn(ask).retain("set_reminder");
    mode.forTurn({ text: "remind me" }).retain("set_reminder");
    expect([say(mode, 1, "2"), judge(mode, { text: "hm" }), say(mode, 1, "1")]).toEqual([[""], "", [kept]]);
  });

  it("does not change an earlier result of forTurn()", () => {
    const mode = createDeliberateMode({ triggers });
    const gate = mode.forTurn({ conversationId: "1", text: "hm" });
    mode.forTurn(ask).retain("set_reminder");
    expect([...gate.allowedNames]).toEqual(["get_time"]);
  });

  it("forgets the least recently used conversation beyond maxConversations", () => {
    const mode = createDeliberateMode({ triggers, maxConversations: 2 });
    for (const conversationId of ["1", "2"]) mode.forTurn({ ...ask, conversationId }).retain("set_reminder");
    expect(say(mode, 1, "1")).toEqual([kept]);
    const forgotten = mode.forTurn({ ...ask, conversationId: "2" });
    say(mode, 1, "1");
    say(mode, 1, "3");
    forgotten.retain("set_reminder");
    expect([say(mode, 1, "1"), say(mode, 1, "2")]).toEqual([[kept], [""]]);
  });
});

describe("createDeliberateMode with an invalid option", () => {
  const create = (options: object) => () => Reflect.apply(createDeliberateMode, undefined, [options]);
  const turn = (given: unknown) => () => Reflect.apply(createDeliberateMode({ triggers }).forTurn, undefined, [given]);

  it.for<[message: string, act: () => unknown]>([
    ['Option "options" is an array of 0 items, but must be an object.', create([])],
    ['Option "triggers" is undefined, but must be an object that maps tool names to phrases.', create({})],
    ['Option "triggers.a" is 7, but must be a string or an array of strings.', create({ triggers: { a: 7 } })],
    [
      'Option "triggers.a" is an array of 1 item, but must be a string or an array of strings.',
      create({ triggers: { a: [/a/] } }),
    ],
    ['Option "tools" is 7, but must be an array of tools or a registry.', create({ tools: 7 })],
    [
      'Option "tools.a.triggers" is 7, but must be a string or an array of strings.',
      create({ tools: [{ name: "a", triggers: 7 }] }),
    ],
    ['Option "retainTurns" is 11, but must be a whole number from 0 to 10.', create({ triggers, retainTurns: 11 })],
    ['Option "retainTurns" is -1, but must be a whole number from 0 to 10.', create({ triggers, retainTurns: -1 })],
    ['Option "retainTurns" is 1.5, but must be a whole number from 0 to 10.', create({ triggers, retainTurns: 1.5 })],
    ['Option "retainTurns" is Infinity, but must be a whole number from 0 to 10.', create({ triggers, retainTurns: Infinity })],
    ['Option "followUps" is "again", but must be an array of strings.', create({ triggers, followUps: "again" })],
    ['Option "maxConversations" is 0, but must be a whole number of at least 1.', create({ triggers, maxConversations: 0 })],
    ['There is no option "retainTurn". Did you mean "retainTurns"?', create({ triggers, retainTurn: 1 })],
    ['Option "text" is undefined, but must be a string.', turn({})],
    ['Option "conversationId" is "", but must be a non-empty string.', turn({ text: "", conversationId: "" })],
    ['Option "recent" is an array of 1 item, but must be an array of strings.', turn({ text: "", recent: [7] })],
    ['There is no option "history".', turn({ text: "", history: [] })],
  ])("throws with the message: %s", ([message, act]) => {
    expect(act).toThrow(message);
    expect(act).toThrow(expect.toSatisfy((error) => isLoopError(error)));
  });
});
