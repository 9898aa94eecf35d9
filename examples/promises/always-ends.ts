// A tool hangs and ignores its abort signal. A stop still ends the run.

import assert from "node:assert/strict";
import { createLoopControl, defineTool, runToolLoop } from "turnwright";
import { createMockProvider, createTestClock, text, toolCall } from "turnwright/testing";
import { line, type Strip } from "./strip.ts";

export async function alwaysEnds(): Promise<Strip> {
  const clock = createTestClock();
  const control = createLoopControl();
  const search = defineTool({
    name: "search_archive",
    description: "Searches the archive",
    inputSchema: { type: "object" },
    execute: () => new Promise<never>(() => {}), // never settles, and does not look at its signal
  });
  const startedAt = clock.now();
  const seconds = (): string => `${(clock.now() - startedAt) / 1000} s`;
  let endedAt = "";
  const running = runToolLoop({
    provider: createMockProvider([[text("Let me search the archive."), toolCall("search_archive")]]),
    tools: [search],
    messages: [{ role: "user", content: "When was the bridge built?" }],
    clock,
    control,
  });
  void running.then(() => (endedAt = seconds()));
  await clock.advance(8_000);
  const stoppedAt = seconds();
  control.stop({ requester: "user 7" });
  await clock.advance(60_000);

  const { status, reason, text: said, messages } = await running;
  const last = messages.at(-1);
  assert.ok(last?.role === "tool");
  const [outcome = ""] = last.results.map((result) => result.outcome);
  assert.deepEqual(
    [status, said, outcome, stoppedAt, endedAt],
    ["stopped-by-user", "Let me search the archive.", "interrupted", "8 s", "13 s"],
  );
  return {
    promise: "It always ends",
    frames: [
      { when: "0 s", title: "The model calls a tool", lines: [line("model", said), line("tool", "search_archive()")] },
      {
        when: stoppedAt,
        title: "The user presses stop",
        lines: [line("user", "control.stop()"), line("danger", "The tool hangs, and ignores its signal.")],
      },
      { when: endedAt, title: "The run ends anyway", lines: [line("result", status), line("quiet", `reason: ${reason.kind}`)] },
      {
        when: endedAt,
        title: "Every call has a result",
        lines: [line("tool", `search_archive: ${outcome}`), line("result", "The transcript is still valid.")],
      },
    ],
  };
}
