import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { nearestName } from "./nearest-name.ts";

const tools = ["search", "get_weather", "get_time", "send_email", "ls"];

describe("nearestName", () => {
  it.for<[name: string, nearest: string | undefined]>([
    ["serch", "search"],
    ["saerch", "search"],
    ["searchh", "search"],
    ["Search", "search"],
    ["getWeather", "get_weather"],
    ["get-weather", "get_weather"],
    ["GetWeathr", "get_weather"],
    ["GET_WEATHER", "get_weather"],
    ["weather", "get_weather"],
    ["functions.get_time", "get_time"],
    ["default_api:getTime", "get_time"],
    ["server__serch", "search"],
    ["functions.", undefined],
    ["sendmail", "send_email"],
    ["delete_everything", undefined],
    ["stitch", undefined],
    ["rm", undefined],
    ["", undefined],
    ["__proto__", undefined],
  ])("returns $1 for the name %j", ([name, nearest]) => {
    expect(nearestName(name, tools)).toBe(nearest);
  });

  it("counts two swapped letters as one mistake", () => {
    expect(nearestName("tpo", ["top"])).toBe("top");
    expect(nearestName("tpx", ["top"])).toBeUndefined();
  });

  it("prefers the nearest name, and the first of equally near names", () => {
    expect(nearestName("tool_c", ["tool_abc", "tool_d", "tool_e"])).toBe("tool_d");
    expect(nearestName("abcdefgh", ["abcdefxy", "abcdefhg", "abcdefgz"])).toBe("abcdefhg");
    expect(nearestName("abcdefgh", ["abcdefgy", "abcdefhg"])).toBe("abcdefgy");
    expect(nearestName("tool", [])).toBeUndefined();
    expect(nearestName("", ["", "_"])).toBeUndefined();
  });

  it("finds any name despite one dropped, doubled or replaced letter", () => {
    const names = fc.string({ unit: fc.constantFrom(..."abcdefgh"), minLength: 4, maxLength: 40 });
    fc.assert(
      fc.property(names, fc.nat(), fc.constantFrom("drop", "double", "replace"), (name, at, mistake) => {
        const index = at % name.length;
        const made = { drop: "", double: `${name[index]}${name[index]}`, replace: "z" }[mistake];
        expect(nearestName(name.slice(0, index) + made + name.slice(index + 1), ["qqqqqqqqqq", name])).toBe(name);
      }),
    );
  });

  it("reads only the start of a very long name", () => {
    const hostile = "search".repeat(200_000);
    expect(nearestName(hostile, tools)).toBeUndefined();
    expect(nearestName(`${"a".repeat(64)}${"b".repeat(1_000_000)}`, ["a".repeat(64)])).toBe("a".repeat(64));
    expect(nearestName("search", [hostile, "search"])).toBe("search");
  });
});
