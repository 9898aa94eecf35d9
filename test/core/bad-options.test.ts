import { describe, expect, it } from "vitest";
import { createMockProvider, text } from "turnwright/testing";
import { recordSteps } from "../../src/core/loop/journals.ts";
import { runToolLoop } from "../../src/core/loop/run-tool-loop.ts";

const provider = createMockProvider([text("Hi.")]);
const good = { provider, messages: [{ role: "user", content: "Go." }] } as const;
const named = (name: unknown, more: object = {}): object => ({ middleware: [{ name, ...more }] });

describe("a run's options", () => {
  it.for([
    ["a misspelled hook", named("a", { beforeend: () => undefined }), 'Did you mean "middleware[0].beforeEnd"?'],
    ["a hook that is not a function", named("a", { call: true }), /"middleware\[0\].call" is .*, but must be a function/],
    ["a middleware without a name", named(undefined), /"middleware\[0\].name" is .*, but must be a name/],
    ["two middleware with the same name", { middleware: [{ name: "a" }, { name: "a" }] }, "a name that no other middleware uses"],
    ["invalid hooks returned by begin", named("a", { begin: () => ({ ask: 1 }) }), ".begin().ask"],
    [
      "a middleware that is not an object",
      { middleware: ["a"] },
      /"middleware\[0\]" is .*, but must be middleware: an object with a name and hooks/,
    ],
    [
      "middleware in the wrong order",
      { middleware: [{ name: "b", after: ["a", "c"] }, { name: "a" }] },
      /"middleware" is .*, but must be an array with "a" before "b"/,
    ],
    ["middleware outside an array", { middleware: { name: "a" } }, /"middleware" is .*, but must be an array of middleware/],
    ["an object that is not a journal", { journal: { step: () => undefined } }, /"journal" is .*, but must be a journal/],
    ["a durable journal without an id", { journal: { ...recordSteps(), durable: true } }, /"runId" is .*, but must be a string/],
    ["a cost limit without prices", { limits: { maxCostUSD: 1 } }, /"pricing" is .*, but must be a function/],
    ["an answer that is not an object", { answers: { call_1: () => 1 } }, /"answers.call_1" is .*, but must be an object/],
    ["an option from another library", { stopWhen: [] }, "stopWhen"],
  ] as const)("are refused before any request: %s", async ([, more, message]) => {
    const { calls } = provider;
    await expect(runToolLoop({ ...good, ...more } as never)).rejects.toThrow(message);
    expect(provider.calls).toBe(calls);
  });
});
