import { expect, it } from "vitest";
import { opening, read, stop, text } from "../../test/wire/messages-events.ts";

const dropped = { type: "thinking_dropped", path: "messages.3.content.0", reason: "prefix_binding_mismatch" };
const allowed = { type: "thinking_mismatch_allowed", path: "messages.7.content.1", reason: "model_binding_mismatch" };

const changesOf = (events: readonly unknown[]): readonly unknown[] =>
  read(events).flatMap((chunk) => (chunk.type === "request-adjusted" ? chunk.changes : []));

it.for<[what: string, first: unknown, last: unknown, changes: readonly unknown[]]>([
  ["nothing without a report", undefined, undefined, []],
  ["nothing for an empty report", [], undefined, []],
  [
    "removed and kept blocks",
    [dropped, allowed],
    undefined,
    [
      { by: "service", field: "messages.3.content.0", action: "removed", reason: "prefix_binding_mismatch" },
      { by: "service", field: "messages.7.content.1", action: "kept", reason: "model_binding_mismatch" },
    ],
  ],
  [
    "the last report if another model took over",
    [dropped],
    [allowed],
    [{ by: "service", field: "messages.7.content.1", action: "kept", reason: "model_binding_mismatch" }],
  ],
  ["nothing for unknown types", [{ type: "novelty" }, { type: "toString" }, null, "x"], undefined, []],
  ["nothing for a report that is not a list", { type: "thinking_dropped" }, undefined, []],
])("anthropicMessages: reads input_transformations, and reports %s", ([, first, last, changes]) => {
  const [ending, end] = stop("end_turn");
  const events = [opening({ input_transformations: first }), ...text(0, "a"), { ...ending, input_transformations: last }, end];
  expect(changesOf(events)).toEqual(changes);
});

it("anthropicMessages: reports at most 100 changes to a request", () => {
  expect(
    changesOf([opening({ input_transformations: Array.from({ length: 1_000 }, () => dropped) }), ...stop("end_turn")]),
  ).toHaveLength(100);
});
