import { describe, expect, it } from "vitest";
import { idRules, toWireId } from "./wire-names.ts";

type RuleName = keyof typeof idRules;

describe("toWireId", () => {
  it.for<[rule: RuleName, id: string]>([
    ["chat", "call_1"],
    ["chat", "functions.get_weather:0"],
    ["chat", "x".repeat(40)],
    ["responses", "x".repeat(64)],
    ["anthropic", "srvtoolu_bdrk_01-x"],
    ["anthropic", "a_x3a"],
    ["plain", "tooluse_1-x"],
    ["nine", "aB3456789"],
  ])("with the rule %s, keeps the accepted id %s", ([rule, id]) => {
    expect(toWireId(id, idRules[rule])).toBe(id);
  });

  const rules = Object.entries(idRules).map(([rule, { fits }]) => [rule as RuleName, fits] as const);

  it.for(rules)("with the rule %s, converts rejected ids to accepted ids that differ from each other", ([rule, fits]) => {
    const pieces = ["_", "x", "3a", ":", "_x3a_", "_x5f_", "-", "\u00e9", "\u{1f600}", "y".repeat(70)];
    const ids = pieces.flatMap((one) => pieces.flatMap((two) => pieces.map((three) => `${one}${two}${three}`)));
    const different = new Set(["", ...ids]);
    const sent = [...different].map((id) => toWireId(id, idRules[rule]));
    expect(new Set(sent).size).toBe(different.size);
    expect(sent.filter((id) => !fits.test(id))).toEqual([]);
  });

  it.for<[rule: RuleName, longest: number]>([
    ["chat", 40],
    ["responses", 64],
    ["anthropic", 64],
  ])("with the rule %s, shortens a long id, and changes an id that only looks shortened", ([rule, longest]) => {
    const send = (id: string): string => toWireId(id, idRules[rule]);
    const ids = Array.from({ length: 1_000 }, (_, index) => `${"x".repeat(100)}${index}`);
    const sent = ids.map(send);
    expect(sent.every((id) => id.length === longest && id.startsWith("xxxx"))).toBe(true);
    expect(new Set([...sent, ...sent.map(send)]).size).toBe(2_000);
  });
});
