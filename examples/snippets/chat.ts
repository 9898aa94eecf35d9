// A chat that answers every message, even a message that arrives during a run. Each conversation has at most one live run.

import assert from "node:assert/strict";
import {
  createLoopControl,
  defineTool,
  type LoopOptions,
  type LoopResult,
  type Message,
  runToolLoop,
  type UserMessage,
} from "turnwright";
import { createMockProvider, stall, text, toolCall } from "turnwright/testing";

// #region chat
/** Returns a function. Call it with each message from the user, at any time. */
function createChat(
  options: Pick<LoopOptions, "provider" | "tools">,
  show: (result: LoopResult) => void,
): (said: string) => Promise<void> {
  const control = createLoopControl();
  let messages: readonly Message[] = [];
  let waiting: readonly UserMessage[] = []; // for the next run
  let isLive = false;

  async function runOnce(): Promise<void> {
    const asked = [...messages, ...waiting];
    waiting = [];
    const result = await runToolLoop({ ...options, messages: asked, control });
    const { reason, undelivered } = result;
    messages = result.messages;
    waiting = [...(reason.kind === "interrupted" ? [reason.message] : []), ...undelivered, ...waiting];
    show(result);
  }

  return async (said) => {
    // If the run has just ended, `interrupt` returns "finished". The message is then sent with the next run.
    if (isLive && control.interrupt(said) === "accepted") return;
    waiting = [...waiting, { role: "user", content: said }];
    if (isLive) return;
    isLive = true;
    try {
      while (waiting.length > 0) await runOnce();
    } finally {
      isLive = false;
    }
  };
}
// #endregion chat

const endings: string[] = [];
const show = ({ reason, text }: LoopResult): void => void endings.push(`${reason.kind}: ${text}`);

{
  const turns = [[text("In Oslo it"), stall()], [text("In Oslo and"), stall()], text("7, 9, 4 and 2 degrees."), text("Bye.")];
  // Two messages arrive during the first run, and one message arrives during the second run. The third run answers all of them.
  const saidDuring = [["And in Bergen?", "And in Voss?"], ["And in Bodø?"]];
  const provider = createMockProvider((_request, index) => {
    setTimeout(() => saidDuring[index]?.forEach((said) => void say(said)), 5);
    return turns[index];
  });
  const say = createChat({ provider }, show);
  await say("How warm is it in Oslo?");
  assert.deepEqual(endings.splice(0), ["interrupted: ", "interrupted: ", "answered: 7, 9, 4 and 2 degrees."]);
  assert.deepEqual(
    provider.requests.at(-1)?.messages,
    ["How warm is it in Oslo?", "And in Bergen?", "And in Voss?", "And in Bodø?"].map((content) => ({ role: "user", content })),
  );
  await say("Thanks, bye.");
  assert.deepEqual(endings.splice(0), ["answered: Bye."]);
}

{
  const provider = createMockProvider([toolCall("measure"), text("7 degrees."), text("9 degrees."), text("At noon.")]);
  const inputSchema = { type: "object" };
  const measure = defineTool({ name: "measure", description: "Reads a thermometer", inputSchema, execute: () => (talk(), 45) });
  const talk = (): void => void say("And in Bergen?");
  const say = createChat({ provider, tools: [measure] }, (result) => {
    show(result);
    // At this moment, one run has ended and the next run has not started.
    if (result.text === "9 degrees.") void say("When was that?");
  });
  await say("How warm is it in Oslo?");
  assert.deepEqual(endings, ["answered: 7 degrees.", "answered: 9 degrees.", "answered: At noon."]);
  assert.deepEqual(provider.requests.at(-1)?.messages.at(-1), { role: "user", content: "When was that?" });
}
