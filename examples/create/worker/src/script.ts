// Plays the model if no key is set, and in the tests. Another worker may continue a run, so the script answers what it reads.

import type { Provider } from "turnwright";
import { createMockProvider, text, toolCall } from "turnwright/testing";

const questions = ["What is it?", "Who uses it?", "What does it cost?"];

export const script: Provider = createMockProvider(({ messages }) => {
  const done = messages.filter(({ role }) => role === "tool").length;
  const question = questions[done];
  if (question !== undefined) return toolCall("look_up", { question }, { id: `call_${done}` });
  return text(`The report is written. It has ${done} facts.`, { chunks: 4 });
});
