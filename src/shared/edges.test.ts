import { expect, it } from "vitest";
import { bareEdges } from "./edges.ts";

it("bareEdges.redactText: keeps a plain sentence, shortens a long one, and hides words that may be secrets", () => {
  expect(bareEdges.redactText("The disk is full.", 100)).toBe("The disk is full.");
  expect(bareEdges.redactText("The disk is full.", 8)).toBe("The disk…");
  expect(bareEdges.redactText("See Q7vRt2LmZpXw or https://ada:x@db.test", 100)).toBe("See [redacted] or [redacted]");
});

it("bareEdges.redactJson: redacts the whole value", () => {
  expect(bareEdges.redactJson({ to: "ada", isLate: true })).toBe("[redacted]");
});
