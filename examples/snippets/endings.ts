// Handles every way in which a run can end.

import assert from "node:assert/strict";
import { runToolLoop, type LoopResult, type Message } from "turnwright";
import { createMockProvider, endEarly, fail, finish, text as says } from "turnwright/testing";

// #region report
function report({ status, reason, text }: LoopResult): string {
  if (reason.kind === "length") return `${text} [cut off]`;
  if (status === "completed") return text;
  if (reason.kind === "provider-error" && reason.error.retryable) return "The model is busy. Try again in a moment.";
  // `text` is the text that the model wrote before the run ended.
  return text === "" ? `That did not work (${reason.kind}).` : `${text} [${reason.kind}]`;
}
// #endregion report

const question: readonly Message[] = [{ role: "user", content: "Why is the sky blue?" }];
const ask = (turn: Parameters<typeof createMockProvider>[0]): Promise<LoopResult> =>
  runToolLoop({ provider: createMockProvider(turn), messages: question });

assert.equal(report(await ask([says("Air scatters blue light.")])), "Air scatters blue light.");
assert.equal(report(await ask([[says("Air scat"), finish("length")]])), "Air scat [cut off]");
assert.equal(report(await ask([fail({ status: 503 })])), "The model is busy. Try again in a moment.");
assert.equal(report(await ask([fail({ status: 401 })])), "That did not work (provider-error).");
assert.equal(report(await ask([finish("stop")])), "That did not work (empty).");

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
