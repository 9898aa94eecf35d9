// The ways to end a run from outside.

import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import {
  createLoopControl,
  defineTool,
  finalAnswer,
  type LoopControl,
  type LoopResult,
  type Message,
  runToolLoop,
  streamToolLoop,
} from "turnwright";
import { createMockProvider, stall, text, toolCall } from "turnwright/testing";

const messages: readonly Message[] = [{ role: "user", content: "Write a long report." }];
const tools = [
  defineTool({
    name: "crawl",
    description: "Reads a whole site",
    inputSchema: { type: "object" },
    execute: (_args, { signal }) => sleep(60_000, "pages", { signal }),
  }),
];

{
  const provider = createMockProvider([[text("Let me see. "), toolCall("crawl")]]);
  const process = new EventEmitter(); // other programs of this process listen to the real signal
  setTimeout(() => process.emit("SIGINT"), 20);
  // #region control
  const control = createLoopControl();
  process.once("SIGINT", () => control.stop({ requester: "user 7", note: "changed my mind" })); // Ctrl+C

  const { status, reason, text: said } = await runToolLoop({ provider, tools, messages, control });
  // If Ctrl+C is pressed while a tool runs, the status is "stopped-by-user", the text is "Let me see.", and the reason is
  // { kind: "stopped", requester: "user 7", note: "changed my mind" }.
  // #endregion control
  assert.equal(status, "stopped-by-user");
  assert.deepEqual(reason, { kind: "stopped", requester: "user 7", note: "changed my mind" });
  assert.equal(said, "Let me see.");
  assert.equal(control.stop(), "finished");
}

{
  const provider = createMockProvider([toolCall("crawl")]);
  // #region server
  const live = new Map<string, LoopControl>(); // the runs of this process

  async function answer(id: string, history: readonly Message[]): Promise<LoopResult> {
    const control = createLoopControl();
    live.set(id, control);
    try {
      return await runToolLoop({ provider, tools, messages: history, control });
    } finally {
      live.delete(id);
    }
  }

  /** DELETE /api/chat/:id */
  function stop(id: string): Response {
    const answer = live.get(id)?.stop(); // check here that the user may stop this run
    return new Response(null, { status: answer === undefined ? 404 : 204 });
  }
  // #endregion server
  const ended = answer("chat-17", messages);
  assert.equal(stop("chat-17").status, 204);
  assert.equal((await ended).status, "stopped-by-user");
  assert.equal(stop("chat-17").status, 404);
}

{
  const provider = createMockProvider([[text("Chapter one"), stall()]]);
  // #region signal
  const request = new AbortController();
  setTimeout(() => request.abort(new Error("The client went away.")), 20);
  const { reason } = await runToolLoop({ provider, messages, signal: request.signal });
  // `reason` is { kind: "aborted", reason: { name: "Error", message: "The client went away." } }.
  // #endregion signal
  assert.deepEqual(reason, { kind: "aborted", reason: { name: "Error", message: "The client went away." } });
}

{
  const provider = createMockProvider([[text("Chapter one"), stall()]]);
  // #region leave
  const stream = streamToolLoop({ provider, messages });
  for await (const event of stream) {
    if (event.type === "text-delta") break; // leaving the `for await` stops the run
  }
  const { reason } = await stream.result;
  // `reason` is { kind: "stopped", note: "The reader left." }.
  // #endregion leave
  assert.equal(reason.kind, "stopped");
  assert.equal(reason.kind === "stopped" ? reason.note : "", "The reader left.");
}

{
  const provider = createMockProvider((_request, index) => [text(`Try ${index + 1}. `), toolCall("crawl")]);
  const result = await runToolLoop({
    provider,
    tools,
    messages,
    limits: { maxIterations: 3, wallClockMs: 60_000 },
    timeouts: { toolMs: 10, toolCleanupMs: 0 },
  });
  // The tool timed out in each of the three iterations. The status is "timeout", and the reason is "max-iterations".
  assert.deepEqual([result.status, result.reason], ["timeout", { kind: "max-iterations", limit: 3 }]);
  assert.deepEqual(
    result.functionHistory.map(({ outcome }) => outcome),
    ["timed-out", "timed-out", "timed-out"],
  );
}

{
  const provider = createMockProvider((request) => (request.toolChoice === "none" ? text("In short: no.") : toolCall("crawl")));
  const result = await runToolLoop({
    provider,
    tools,
    messages,
    limits: { maxIterations: 2 },
    timeouts: { toolMs: 10 },
    middleware: [finalAnswer()],
  });
  // The reason is still "max-iterations". The loop sent one more request, without tools, and `text` is its answer.
  assert.deepEqual([result.reason.kind, result.text, result.finalAnswer], ["max-iterations", "In short: no.", true]);
}
