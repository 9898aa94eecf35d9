// Runs that end in an error.

import { detectLoops, structuredOutput } from "turnwright";
import { z } from "zod";
import { endEarly, fail, failInBand, finish, text, toolCall, usage } from "turnwright/testing";
import { always, type Scenario } from "./scenario.ts";

export const failed: readonly Scenario[] = [
  {
    title: "a provider that throws",
    status: "error",
    reason: "provider-error",
    script: [[text("Par"), fail({ status: 503, message: "busy" })]],
    text: "Par",
  },
  {
    title: "an error in the stream",
    status: "error",
    reason: "provider-error",
    script: [failInBand({ name: "E", message: "no", code: "overloaded", retryable: true })],
    text: "",
  },
  {
    title: "a stream that ends early after a call",
    status: "error",
    reason: "provider-error",
    script: [[text("Cut"), toolCall("echo", { say: "x" }), endEarly()]],
    text: "Cut",
  },
  {
    title: "an unknown finish reason",
    status: "error",
    reason: "provider-error",
    script: [[toolCall("echo", { say: "x" }), finish("unknown")]],
    text: "",
  },
  {
    title: "a call without a name",
    status: "error",
    reason: "malformed-call",
    script: [[text("Hm"), toolCall("echo", { say: "x" }), toolCall(" ")]],
    text: "Hm",
  },
  {
    title: "consecutive tool errors",
    status: "error",
    reason: "tool-error-cap",
    script: always("broken"),
    options: () => ({ limits: { maxConsecutiveToolErrors: 3 } }),
    text: "Again.",
  },
  {
    title: "a tool that restarts the context again and again",
    status: "error",
    reason: "restart-cap",
    script: always("enrich"),
    text: "Again.",
  },
  {
    title: "repeated calls that detectLoops stops",
    status: "error",
    reason: "loop-detected",
    script: (_, index) => [text("Again. "), toolCall("echo", { say: index % 2 === 0 ? "a" : "b" }), toolCall("alone")],
    options: () => ({ policies: { loopDetection: detectLoops({ threshold: 3, action: "stop" }) } }),
    text: "Again.",
  },
  {
    title: "a stopWhen condition that throws",
    status: "error",
    reason: "hook-failed",
    script: [[text("Hm. "), toolCall("alone")]],
    options: () => ({ policies: { stopWhen: () => Promise.reject(new Error("no")) } }),
    text: "Hm.",
  },
  {
    title: "answers that never fit their schema",
    status: "error",
    reason: "invalid-output",
    script: () => text("Eight."),
    options: () => ({ policies: { output: structuredOutput(z.object({ n: z.number() })) } }),
    text: "Eight.",
  },
  {
    title: "a schema whose output is not JSON",
    status: "error",
    reason: "hook-failed",
    script: [text("8")],
    options: () => ({ policies: { output: structuredOutput(z.number().transform((n) => BigInt(n))) } }),
    text: "8",
  },
  {
    title: "maxTokens reached",
    status: "error",
    reason: "max-tokens",
    script: () => [text("So "), toolCall("alone"), usage({ inputTokens: 60, outputTokens: 1 })],
    options: () => ({ limits: { maxTokens: 100 } }),
    text: "So",
  },
  {
    title: "maxCostUSD reached",
    status: "error",
    reason: "max-cost",
    script: () => [text("So "), toolCall("alone"), usage({ inputTokens: 60, outputTokens: 1 })],
    options: () => ({ limits: { maxCostUSD: 1 }, pricing: ({ inputTokens }) => inputTokens / 100 }),
    text: "So",
  },
  {
    title: "maxCostUSD with an unknown price",
    status: "error",
    reason: "cost-unknown",
    script: always("alone"),
    options: () => ({ limits: { maxCostUSD: 1 }, pricing: () => undefined }),
    text: "Again.",
  },
  {
    title: "a model that calls tools again and again",
    status: "error",
    reason: "max-tool-calls",
    script: always("alone"),
    options: () => ({ limits: { maxToolCalls: 2 } }),
    text: "Again.",
  },
  {
    title: "a model that pauses its message again and again",
    status: "error",
    reason: "max-pauses",
    script: () => [text("."), finish("paused")],
    options: () => ({ limits: { maxPauses: 3 } }),
    text: "....",
  },
  {
    title: "an onIteration hook that throws",
    status: "error",
    reason: "hook-failed",
    script: always("alone"),
    options: () => ({ hooks: { onIteration: () => Promise.reject(new Error("no")) } }),
    text: "Again.",
  },
  {
    title: "a prepareIteration hook that throws",
    status: "error",
    reason: "hook-failed",
    script: [],
    options: () => ({
      hooks: {
        prepareIteration: () => {
          throw new Error("no");
        },
      },
    }),
    text: "",
  },
  {
    title: "a fatal tool error",
    status: "error",
    reason: "fatal-tool-error",
    script: [[text("Saving. "), toolCall("fatal"), toolCall("alone")]],
    text: "Saving.",
  },
];
