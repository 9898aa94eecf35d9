import { expect, it } from "vitest";
import { isLoopEndedError, runToolLoop, unwrap } from "turnwright";
import { createMockProvider, text } from "turnwright/testing";
import { statusByReason } from "./known-names.ts";
import { readNames, readPage, readRows, readSection, sorted } from "./read-page.ts";

const page = readPage("docs/guides/throwing-errors.md");
const whole = await runToolLoop({ provider: createMockProvider([text("Hi.")]), messages: [{ role: "user", content: "Hi." }] });
const facts = {
  error: { name: "E", message: "no", code: "server", retryable: false },
  calls: [],
  toolName: "t",
  guardrail: "g",
  limitUSD: 1,
  spentUSD: 1,
};

/** Returns an end reason, followed by the class of the error that `unwrap` throws for it. Undefined if `unwrap` does not throw. */
function thrownFor([kind, status]: readonly [string, string]): string | undefined {
  try {
    unwrap({ ...whole, status: status as never, reason: { ...facts, kind } as never });
    return undefined;
  } catch (error) {
    return isLoopEndedError(error) ? `${error.name} ${kind}` : String(error);
  }
}

it("docs/guides/throwing-errors.md: lists every thrown reason once, under its class", () => {
  const rows = readRows(readSection(page, "unwrap"));
  const listed = rows.flatMap(([name = "", kinds = ""]) => readNames(kinds).map((kind) => `${name.replaceAll("`", "")} ${kind}`));
  const thrown = Object.entries(statusByReason).map(thrownFor);
  expect(sorted(listed)).toEqual(sorted(thrown.filter((one) => one !== undefined)));
});

it("docs/guides/throwing-errors.md: lists every option of generateWithTools", () => {
  const names = readRows(readSection(page, "generateWithTools")).map(([name = ""]) => name.replaceAll("`", ""));
  expect(names).toEqual(["maxIterations", "maxCostUSD", "pricing", "onIteration", "abortSignal"]);
});
