import { expect, it } from "vitest";
import { readEdited, startLine, streamLine } from "./edited-log.ts";
import { toLoggedOutcome } from "../../src/inspect/rerun/past-of-log.ts";

it("toLoggedOutcome: keeps the known cost of a nested run whose cost is partly unknown", () => {
  const call = { run: 0, iteration: 0, callId: "c", name: "ask", index: 0 };
  const run = readEdited([
    startLine(0),
    { ...streamLine, run: 0 },
    { ...call, type: "tool-start", args: {} },
    startLine(1, { path: ["c"], parent: 0 }),
    { ...streamLine, run: 1 },
    { ...streamLine, type: "iteration-end", run: 1, costUSD: 0.5 },
    { ...streamLine, iteration: 1, run: 1 },
    { ...streamLine, type: "iteration-end", iteration: 1, run: 1 },
    { type: "run-end", run: 1, status: "completed", toolCallsExecuted: 2 },
    { ...call, type: "tool-end", outcome: "completed", result: "ok" },
  ]);
  const [logged] = run.iterations[0]?.calls ?? [];
  if (logged === undefined) throw new Error("The log has no call.");
  const outcome = toLoggedOutcome({ logged, call: { callId: "c", name: "ask", args: {} } });
  expect(outcome?.nested).toMatchObject({ costUSD: undefined, knownCostUSD: 0.5, toolCallsExecuted: 2 });
});
