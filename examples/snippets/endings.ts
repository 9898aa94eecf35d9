// Handles every way in which a run can end.

import assert from "node:assert/strict";
import {
  createLoopControl,
  defineTool,
  type LoopOptions,
  type LoopResult,
  type Message,
  type Middleware,
  runToolLoop,
  type Tool,
} from "turnwright";
import { createMockProvider, endEarly, fail, finish, text as says, toolCall } from "turnwright/testing";

// #region report
/** Returns what a user may read. For your log, there is `result.error`. */
function report({ status, reason, text }: LoopResult): string {
  const add = (sentence: string): string => (text === "" ? sentence : `${text}\n\n${sentence}`); // every ending keeps `text`
  switch (status) {
    case "completed":
      if (reason.kind === "length") return add("The answer is cut off here. Write “go on” for the rest.");
      return text === "" ? "I have no answer to that." : text;
    case "suspended":
      if (reason.kind === "approval-required") return add("Please approve or decline the next step."); // `reason.calls`
      return add("This is not finished yet. I will go on later."); // waits for a result, or a server was restarted
    case "stopped-by-user":
      return add("Stopped.");
    case "follow-up-interrupt":
      return text; // the next run answers
    case "timeout":
      return add("I could not finish this in time.");
    case "empty-response":
      return "There was no answer. Please ask again.";
    case "error":
    case "tool-calls": // no run ends with this status
      if (reason.kind === "provider-error" && reason.error.retryable) return add("The model is busy. Try again in a moment.");
      return add("Something went wrong on our side.");
  }
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

const broken = await ask([[says("Air scat"), endEarly()]]);
assert.equal(broken.text, "Air scat");

const provider = createMockProvider([says("ters blue light.")]);
// #region go-on
// Every run, even a failed one, returns messages that can be sent again.
const next = await runToolLoop({
  provider,
  messages: [...broken.messages, { role: "user", content: "You were cut off. Go on." }],
});
// #endregion go-on
assert.equal(next.text, "ters blue light.");
