// The first evaluation: `npx turnwright eval`.

import { runToolLoop } from "turnwright";
import { defineEvaluation } from "turnwright/evals";
import { createMockProvider, text } from "turnwright/testing";

export const greetings = defineEvaluation({
  name: "greetings",
  cases: [
    { id: "hello", question: "Hello!" },
    { id: "morning", question: "Good morning!" },
  ],
  run: ({ question }, trial) => {
    // A script plays the model. Put your agent here.
    const provider = createMockProvider([text("Hello! How can I help you?")]);
    return runToolLoop(trial.options({ provider, messages: [{ role: "user", content: question }] }));
  },
  check: (result) => ({ answered: result.status === "completed", greets: result.text.startsWith("Hello") }),
});
