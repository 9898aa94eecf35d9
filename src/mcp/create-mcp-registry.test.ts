import { describe, expect, it } from "vitest";
import { toToolNames } from "./create-mcp-registry.ts";

const long = "x".repeat(64);

function named(names: readonly string[], prefix = ""): readonly (string | undefined)[] {
  const made = toToolNames(names, prefix);
  return names.map((name) => made.get(name));
}

describe("toToolNames (MCP)", () => {
  it.for<[does: string, name: string, prefix: string, safe: string]>([
    ["keeps a valid name", "get_weather", "", "get_weather"],
    ["puts the prefix in front of a valid name", "get-Weather2", "x_", "x_get-Weather2"],
    ["replaces a dot and a slash with underscores", "admin.tools/list", "", "admin_tools_list"],
    ["replaces each letter outside ASCII with an underscore", "größe", "", "gr__e"],
    ["replaces an emoji with one underscore", "🙂", "", "_"],
    ["converts an empty name to an underscore", "", "", "_"],
    ["converts an empty name to the prefix and an underscore", "", "x_", "x__"],
    ["keeps the name __proto__", "__proto__", "", "__proto__"],
    ["keeps the name constructor", "constructor", "", "constructor"],
    ["keeps a valid name of 64 characters", long, "", long],
    ["keeps a valid name of 62 characters after a prefix of two characters", long.slice(2), "x_", `x_${long.slice(2)}`],
  ])("%s", ([, name, prefix, safe]) => {
    expect(named([name], prefix)).toEqual([safe]);
  });

  it.for<[what: string, name: string, prefix: string, safe: RegExp]>([
    ["a name of 65 characters", `${long}y`, "", /^x{57}_[0-9a-f]{6}$/],
    ["a name of 64 characters that gets a prefix", long, "x_", /^x_x{55}_[0-9a-f]{6}$/],
    ["a name of 64 letters and a dot", `${long}.`, "", /^x{57}_[0-9a-f]{6}$/],
  ])("shortens %s to 64 characters, including a digest", ([, name, prefix, safe]) => {
    const [made = ""] = named([name], prefix);
    expect(made).toMatch(safe);
    expect(made).toHaveLength(64);
  });

  it('keeps the name "a_b" if the name "a.b" would also become "a_b"', () => {
    expect(named(["a.b", "a_b"])).toEqual([expect.stringMatching(/^a_b_[0-9a-f]{6}$/), "a_b"]);
  });

  it("gives different names to tools whose converted names would be equal", () => {
    const made = named(["a.b", "a/b", "a b", "a:b"]);
    expect(new Set(made).size).toBe(4);
    for (const name of made) expect(name).toMatch(/^a_b_[0-9a-f]{6}$/);
  });

  it("shortens long names with the same beginning to different names", () => {
    expect(new Set(named([`${long}1`, `${long}2`, `${long}3`])).size).toBe(3);
  });

  it("returns the same names for any order of the tools", () => {
    const names = ["a.b", "a_b", "a/b", "c.d", `${long}1`, "e"];
    const backwards = Object.fromEntries(toToolNames([...names].reverse(), "x_"));
    expect(backwards).toEqual(Object.fromEntries(toToolNames(names, "x_")));
  });

  it("returns the same names for any order of tools with equal digests", () => {
    const marks = Array.from(".:/!?");
    const names = Array.from(
      { length: 5 ** 6 },
      (_, at) => `t${marks.map((__, place) => marks[Math.floor(at / 5 ** place) % 5]).join("")}${at}`,
    );
    const alike = names.map((name) => name.replace(/\d+$/, (at) => marks[Number(at) >= 5 ** 5 ? 1 : 0] ?? ""));
    const unique = [...new Set(alike)];
    expect(Object.fromEntries(toToolNames([...unique].reverse(), ""))).toEqual(Object.fromEntries(toToolNames(unique, "")));
  });

  it("keeps a valid name even if the shortened name of another tool would be equal", () => {
    const [taken = ""] = named(["a.b", "a/b"]);
    const made = named(["a.b", "a/b", taken]);
    expect(made[2]).toBe(taken);
    expect(new Set(made).size).toBe(3);
  });
});
