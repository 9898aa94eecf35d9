// Runs that take too long, or whose model sends nothing.

import { finish, stall, text, toolCall, usage, wait } from "turnwright/testing";
import { always, type Scenario } from "./scenario.ts";

export const timedOut: readonly Scenario[] = [
  {
    title: "maxIterations reached",
    status: "timeout",
    reason: "max-iterations",
    script: always("alone"),
    options: () => ({ limits: { maxIterations: 3 } }),
    text: "Again.",
  },
  {
    title: "maxIterations reached with policies.finalAnswer",
    status: "timeout",
    reason: "max-iterations",
    script: (request) => (request.toolChoice === "none" ? text("In short: no.") : [text("Again."), toolCall("alone")]),
    options: () => ({ limits: { maxIterations: 2 }, policies: { finalAnswer: true } }),
    text: "In short: no.",
  },
  {
    title: "a model that never sends a first chunk",
    status: "timeout",
    reason: "first-chunk",
    script: [stall()],
    meanwhile: ({ clock }) => clock.advance(300_000),
    text: "",
  },
  {
    title: "a model that stops sending in the middle of a stream",
    status: "timeout",
    reason: "stream-idle",
    script: [[text("And then"), wait(119_000), text(" it"), stall()]],
    meanwhile: ({ clock }) => clock.advance(239_000),
    text: "And then it",
  },
  {
    title: "a model that sends nothing and ignores its signal",
    status: "timeout",
    reason: "stream-idle",
    script: [[text("And"), stall({ ignoreSignal: true })]],
    meanwhile: ({ clock }) => clock.advance(125_000),
    text: "And",
    deafProvider: true,
  },
  {
    title: "wallClockMs reached during a stream",
    status: "timeout",
    reason: "wall-clock",
    script: [[text("Tick"), usage({ inputTokens: 3, outputTokens: 1 }), stall()]],
    options: () => ({ limits: { wallClockMs: 1_000 } }),
    meanwhile: ({ clock }) => clock.advance(1_000),
    text: "Tick",
  },
  {
    title: "wallClockMs reached during a tool that ignores its signal",
    status: "timeout",
    reason: "wall-clock",
    script: [[text("Tock"), toolCall("deaf"), toolCall("alone"), toolCall("echo", { say: "x" })]],
    options: () => ({ limits: { wallClockMs: 1_000 } }),
    meanwhile: ({ clock }) => clock.advance(6_000),
    text: "Tock",
  },
  { title: "an empty message", status: "empty-response", reason: "empty", script: [finish("stop")], text: "" },
  {
    title: "a message of only spaces and line breaks",
    status: "empty-response",
    reason: "empty",
    script: [text(" \n ")],
    text: "",
  },
];
