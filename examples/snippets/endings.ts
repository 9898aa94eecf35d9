// Handles every way in which a run can end.

import assert from "node:assert/strict";
import {
  createLoopControl,
  defineTool,
  type EndReason,
  type LoopOptions,
  type LoopResult,
  type LoopStatus,
  type Message,
  type Middleware,
  runToolLoop,
  type Tool,
} from "turnwright";
import { createMockProvider, endEarly, fail, finish, text as says, toolCall } from "turnwright/testing";

// #region report
/** Sentences for users. For your log, there are `reason` and `error`. */
const sentences: Readonly<Record<LoopStatus, string>> = {
  completed: "",
  suspended: "This is not finished yet. I will go on later.", // it waits for a result, or the server was restarted
  "stopped-by-user": "Stopped.",
  "follow-up-interrupt": "", // the next run answers
  timeout: "I could not finish this in time.",
  "empty-response": "There was no answer. Please ask again.",
  error: "Something went wrong on our side.",
};

/** For some reasons, there is a better sentence. */
const exact: Readonly<Partial<Record<EndReason["kind"], string>>> = {
  length: "The answer is cut off here. Write “go on” for the rest.",
  "approval-required": "Please approve or decline the next step.", // show `reason.calls`
  "max-cost": "This request has reached its limit.",
  "max-tokens": "This request has reached its limit.",
  "input-guardrail": "I cannot help with that.",
  "output-guardrail": "I cannot show this answer.",
};

function report({ status, reason, text }: LoopResult): string {
  const isEmpty = status === "completed" && text === "";
  let sentence = exact[reason.kind] ?? (isEmpty ? "I have no answer to that." : sentences[status]);
  if (reason.kind === "input-guardrail") sentence = reason.reason ?? sentence;
  if (reason.kind === "provider-error") {
    if (reason.error.retryable) sentence = "The model is busy. Try again in a moment.";
    if (reason.error.code === "context-too-long") sentence = "This conversation is too long. Please start a new one.";
  }
  return [text, sentence].filter((part) => part !== "").join("\n\n"); // every ending keeps the text so far
}
// #endregion report

const question: readonly Message[] = [{ role: "user", content: "Why is the sky blue?" }];
const ask = (turn: Parameters<typeof createMockProvider>[0]): Promise<LoopResult> =>
  runToolLoop({ provider: createMockProvider(turn), messages: question });

assert.equal(report(await ask([says("Air scatters blue light.")])), "Air scatters blue light.");
assert.equal(
  report(await ask([[says("Air scat"), finish("length")]])),
  "Air scat\n\nThe answer is cut off here. Write “go on” for the rest.",
);
assert.equal(report(await ask([finish("refusal")])), "I have no answer to that.");
assert.equal(report(await ask([fail({ status: 503 })])), "The model is busy. Try again in a moment.");
assert.equal(report(await ask([fail({ status: 401 })])), "Something went wrong on our side.");
assert.equal(report(await ask([fail({ status: 413 })])), "This conversation is too long. Please start a new one.");
assert.equal(report(await ask([finish("stop")])), "There was no answer. Please ask again.");

const pay = defineTool({
  name: "pay",
  description: "Pays",
  inputSchema: { type: "object" },
  needsApproval: true,
  execute: () => 1,
});
const form = { name: "show_form", description: "Shows a form", inputSchema: { type: "object" } } as const;
const control = createLoopControl();
const callOf = (tool: Tool, name: string, more: Partial<LoopOptions> = {}): Promise<LoopResult> =>
  runToolLoop({ provider: createMockProvider(() => toolCall(name)), messages: question, tools: [tool], ...more });
assert.equal(report(await callOf(pay, "pay")), "Please approve or decline the next step.");
assert.equal(report(await callOf(form, "show_form")), "This is not finished yet. I will go on later.");
const stops = defineTool({ name: "stops", description: "Stops", inputSchema: { type: "object" }, execute: () => control.stop() });
assert.equal(report(await callOf(stops, "stops", { control })), "Stopped.");
const often = defineTool({ name: "often", description: "Often", inputSchema: { type: "object" }, execute: () => 1 });
assert.equal(report(await callOf(often, "often", { limits: { maxIterations: 2 } })), "I could not finish this in time.");
const corrects: Middleware = {
  name: "corrects",
  pure: true,
  on: ({ type }) => type === "text-delta" && control.interrupt("No, the sea."),
};
const corrected = { provider: createMockProvider([says("Air scatters", { chunks: 2 })]), control, middleware: [corrects] };
assert.equal(report(await runToolLoop({ ...corrected, messages: question })), "");

const provider = createMockProvider([[says("Air scat"), endEarly()], says("ters blue light.")]);
const messages = question;
// #region go-on
const broken = await runToolLoop({ provider, messages });
// Every run, even a failed one, returns messages that can be sent again.
const next = await runToolLoop({
  provider,
  messages: [...broken.messages, { role: "user", content: "You were cut off. Go on." }],
});
// #endregion go-on
assert.equal(broken.text, "Air scat");
assert.equal(next.text, "ters blue light.");
