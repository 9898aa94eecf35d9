import { describe, expect, it } from "vitest";
import { toToolNames } from "./tool-names.ts";

const long = "x".repeat(64);

function named(names: readonly string[], prefix = ""): readonly (string | undefined)[] {
  const made = toToolNames(names, prefix);
  return names.map((name) => made.get(name));
}

describe("toToolNames", () => {
  it.for<[name: string, prefix: string, safe: string]>([
    ["get_weather", "", "get_weather"],
    ["get-Weather2", "x_", "x_get-Weather2"],
    ["admin.tools/list", "", "admin_tools_list"],
    ["größe", "", "gr__e"],
    ["🙂", "", "_"],
    ["", "", "_"],
    ["", "x_", "x__"],
    ["__proto__", "", "__proto__"],
    ["constructor", "", "constructor"],
    [long, "", long],
    [long.slice(2), "x_", `x_${long.slice(2)}`],
  ])("converts %j with the prefix %j to %s", ([name, prefix, safe]) => {
    expect(named([name], prefix)).toEqual([safe]);
  });

  it.for<[name: string, prefix: string, safe: RegExp]>([
    [`${long}y`, "", /^x{57}_[0-9a-f]{6}$/],
    [long, "x_", /^x_x{55}_[0-9a-f]{6}$/],
    [`${long}.`, "", /^x{57}_[0-9a-f]{6}$/],
  ])("shortens %j with the prefix %j and appends a digest", ([name, prefix, safe]) => {
    const [made = ""] = named([name], prefix);
    expect(made).toMatch(safe);
    expect(made).toHaveLength(64);
  });

  it("keeps a valid name if another name would be changed to it", () => {
    expect(named(["a.b", "a_b"])).toEqual([expect.stringMatching(/^a_b_[0-9a-f]{6}$/), "a_b"]);
  });

  it("gives different names to tools that would collide", () => {
    const made = named(["a.b", "a/b", "a b", "a:b"]);
    expect(new Set(made).size).toBe(4);
    for (const name of made) expect(name).toMatch(/^a_b_[0-9a-f]{6}$/);
  });

  it("gives different names to long names with the same start", () => {
    expect(new Set(named([`${long}1`, `${long}2`, `${long}3`])).size).toBe(3);
  });

  it("does not depend on the order in which tools are listed", () => {
    const names = ["a.b", "a_b", "a/b", "c.d", `${long}1`, "e"];
    const backwards = Object.fromEntries(toToolNames([...names].reverse(), "x_"));
    expect(backwards).toEqual(Object.fromEntries(toToolNames(names, "x_")));
  });

  it("does not depend on the order of names with the same digest", () => {
    const marks = Array.from(".:/!?");
    const names = Array.from(
      { length: 5 ** 6 },
      (_, at) => `t${marks.map((__, place) => marks[Math.floor(at / 5 ** place) % 5]).join("")}${at}`,
    );
    const alike = names.map((name) => name.replace(/\d+$/, (at) => marks[Number(at) >= 5 ** 5 ? 1 : 0] ?? ""));
    const unique = [...new Set(alike)];
    expect(Object.fromEntries(toToolNames([...unique].reverse(), ""))).toEqual(Object.fromEntries(toToolNames(unique, "")));
  });

  it("keeps a name that equals the changed name of another tool", () => {
    const [taken = ""] = named(["a.b", "a/b"]);
    const made = named(["a.b", "a/b", taken]);
    expect(made[2]).toBe(taken);
    expect(new Set(made).size).toBe(3);
  });
});
