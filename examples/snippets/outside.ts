// Calls whose results arrive from outside: a question that a user answers, and a job on another machine.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defer, defineTool, isLoopError, type LoopOptions, type Message, runToolLoop } from "turnwright";
import { fileJournal } from "turnwright/journal";
import { createMockProvider, runTool, text, toolCall } from "turnwright/testing";
import { z } from "zod";

const messages: readonly Message[] = [{ role: "user", content: "Render my holiday film." }];
const folder = mkdtempSync(join(tmpdir(), "outside-"));
const home = process.cwd();
process.chdir(folder);
const provider = createMockProvider(({ messages: said }) =>
  said.length === 1
    ? [toolCall("ask_user", { question: "Which music?" }), toolCall("render", { film: "holiday" })]
    : text("Your film is ready."),
);
const jobs: string[] = [];
const fetch = async (_url: string, { headers, body }: { method: string; headers: Record<string, string>; body: string }) =>
  jobs.push(`${body} ${headers["idempotency-key"]}`);

// #region define
const askUser = defineTool({
  name: "ask_user",
  description: "Asks the user a question",
  inputSchema: z.object({ question: z.string() }),
  outputSchema: z.object({ answer: z.string() }), // checks what comes from outside
  // Without `execute`, each call waits until its result is supplied.
});
const render = defineTool({
  name: "render",
  description: "Renders a film. This takes hours.",
  inputSchema: z.object({ film: z.string() }),
  async execute({ film }, { idempotencyKey }) {
    const headers = { "idempotency-key": idempotencyKey };
    await fetch("https://farm.example.com/films", { method: "POST", headers, body: film });
    return defer(); // the result comes later
  },
});
// #endregion define

// #region run
const options = { provider, tools: [askUser, render], messages, runId: "film-3" };
const first = await runToolLoop({ ...options, journal: fileJournal("film-3.jsonl") });
// `first.reason` is { kind: "result-required", calls: [{ id: "call_i0_0", name: "ask_user", waitsFor: "result", ... }, ...] }
const [question, film] = first.reason.kind === "result-required" ? first.reason.calls : [];
if (question === undefined || film === undefined) throw new Error("No call is waiting for a result.");
// #endregion run
assert.equal(first.status, "suspended");
assert.deepEqual(jobs, ["holiday film-3/i0/call/1/render"]);

// This result does not match the `outputSchema`. It is refused, and the call keeps waiting.
const misfit: LoopOptions["answers"] = { [question.id]: { kind: "result", result: { answer: 7 } } };
await assert.rejects(
  runToolLoop({ ...options, journal: fileJournal("film-3.jsonl"), answers: misfit }),
  (error) => isLoopError(error, "invalid-decision") && error.details.call === question.id,
);

{
  // #region answer
  // The user has answered the question, but the film is not ready. So the run is suspended again.
  const answers = { [question.id]: { kind: "result" as const, result: { answer: "Jazz." } } };
  const second = await runToolLoop({ ...options, journal: fileJournal("film-3.jsonl"), answers });
  // #endregion answer
  assert.deepEqual(second.reason.kind === "result-required" && second.reason.calls.map(({ name }) => name), ["render"]);
}

{
  // Hours later, in another process: the job on the render farm has failed.
  const answers = { [film.id]: { kind: "failed" as const, error: "The disk was full." } };
  const third = await runToolLoop({ ...options, journal: fileJournal("film-3.jsonl"), answers });
  // `third.status` is "completed". The model has read both results.
  assert.equal(third.text, "Your film is ready.");
  assert.deepEqual(
    third.functionHistory.map(({ functionResponse, outcome }) => [outcome, functionResponse.response.result]),
    [
      ["completed", { answer: "Jazz." }],
      ["failed", { status: "tool_execution_failed", reason: "The disk was full.", tool_name: "render" }],
    ],
  );
}

{
  const outcome = await runTool(render, { film: "holiday" });
  // `outcome.kind` is "deferred".
  assert.equal(outcome.kind, "deferred");
}

process.chdir(home);
rmSync(folder, { recursive: true });
