import { guardrails, createHandoffs } from "turnwright/middleware";
import { text, toolCall } from "turnwright/testing";
import type { Scenario } from "./scenario.ts";

const check = (): { readonly kind: "refuse"; readonly reason: string; readonly endsRun: true } => ({
  kind: "refuse",
  reason: "not here",
  endsRun: true,
});
const refuse = { name: "rules", check };

const agents = createHandoffs({
  start: "a",
  maxHandoffs: 1,
  agents: { a: { description: "first", handoffs: ["b"] }, b: { description: "second", handoffs: ["a"] } },
});

export const guarded: readonly Scenario[] = [
  {
    title: "a question that a guardrail refuses",
    status: "error",
    reason: "input-guardrail",
    script: [text("Hi.")],
    options: () => ({ middleware: [guardrails({ input: [refuse] })] }),
    text: "",
  },
  {
    title: "an answer that a guardrail refuses",
    status: "error",
    reason: "output-guardrail",
    script: [text("Hi.")],
    options: () => ({ middleware: [guardrails({ output: [refuse] })] }),
    text: "",
  },
  {
    title: "a call with which a guardrail ends the run",
    status: "error",
    reason: "tool-guardrail",
    script: [[text("Hm."), toolCall("echo", { say: "x" })]],
    options: () => ({ middleware: [guardrails({ tools: [refuse] })] }),
    text: "Hm.",
  },
  {
    title: "agents that hand over again and again",
    status: "error",
    reason: "handoff-cap",
    script: (_, index) => [text("Again. "), toolCall(`transfer_to_${index % 2 === 0 ? "b" : "a"}`)],
    options: () => ({ tools: agents.tools, middleware: [agents] }),
    text: "Again.",
  },
];
