import { expect, it } from "vitest";
import { bareEdges } from "./edges.ts";

it("bareEdges.redactText: keeps a plain sentence, cuts a long one, and hides words that may be a secret", () => {
  expect(bareEdges.redactText("The disk is full.", 100)).toBe("The disk is full.");
  expect(bareEdges.redactText("The disk is full.", 8)).toBe("The disk…");
  expect(bareEdges.redactText("See Q7vRt2LmZpXw or https://ada:x@db.test", 100)).toBe("See [redacted] or [redacted]");
});

it("bareEdges.redactJson: shows no value", () => {
  const args = { to: "ada", count: 7, isLate: true, none: null, list: ["a"], __proto__x: { a: 1 } };
  expect(bareEdges.redactJson(args)).toEqual({
    to: "[redacted]",
    count: "[redacted]",
    isLate: true,
    none: null,
    list: "[redacted]",
    __proto__x: "[redacted]",
  });
  expect([bareEdges.redactJson("ada"), bareEdges.redactJson(["ada"])]).toEqual(["[redacted]", "[redacted]"]);
});
