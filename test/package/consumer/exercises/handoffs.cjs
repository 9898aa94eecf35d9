// A run that another agent takes over.

const assert = require("node:assert/strict");

exports.exercise = async (load) => {
  const { runToolLoop } = await load("turnwright");
  const { createHandoffs, withoutToolCalls } = await load("turnwright/handoffs");
  const { createMockProvider, text, toolCall } = await load("turnwright/testing");
  const agents = createHandoffs({
    start: "triage",
    agents: {
      triage: { description: "Finds out the topic.", handoffs: ["billing"] },
      billing: { description: "Knows invoices.", system: "You know invoices.", history: withoutToolCalls },
    },
  });
  const provider = createMockProvider([toolCall("transfer_to_billing", {}), text("Done.")]);
  const messages = [{ role: "user", content: "My invoice" }];
  const result = await runToolLoop({ provider, messages, middleware: [agents] });
  assert.deepEqual([result.agent, result.text, provider.requests[1].system], ["billing", "Done.", "You know invoices."]);
};
