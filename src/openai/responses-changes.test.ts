import { expect, it } from "vitest";
import { message, read } from "../../test/wire/responses-events.ts";

const removed = (reason: string): object => ({ id: "rs_1", type: "reasoning", action: "removed", reason });

it.for<[what: string, given: unknown, changes: readonly unknown[]]>([
  ["nothing without a report", undefined, []],
  [
    "reasoning that no longer fits the request",
    [removed("prefix_mismatch")],
    [{ by: "service", field: "rs_1", action: "removed", reason: "prefix_mismatch" }],
  ],
  ["nothing for reasoning from earlier turns, which is withheld as usual", [removed("turn_boundary")], []],
  ["nothing for unknown actions", [{ id: "rs_1", type: "reasoning", action: "novelty" }, null], []],
])("openaiResponses: reads input_transformations, and reports %s", ([, given, changes]) => {
  const response = { status: "completed", output: [message("m", "Hi")], input_transformations: given };
  const chunks = read([{ type: "response.completed", response }]);
  expect(chunks.flatMap((chunk) => (chunk.type === "request-adjusted" ? chunk.changes : []))).toEqual(changes);
});
