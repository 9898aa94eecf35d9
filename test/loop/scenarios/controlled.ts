import { approve, defer } from "turnwright";
import { stall, text, toolCall, wait } from "turnwright/testing";
import { tool } from "../play.ts";
import type { Scenario } from "./scenario.ts";

export const controlled: readonly Scenario[] = [
  {
    title: "control.interrupt() during a stream",
    status: "follow-up-interrupt",
    reason: "interrupted",
    script: [[text("Let me "), stall()]],
    meanwhile: async ({ clock, control }) => {
      await clock.flush();
      control.steer("And quickly.");
      control.interrupt("No, wait.");
    },
    text: "",
  },
  {
    title: "control.interrupt() during a stream that ignores its signal",
    status: "follow-up-interrupt",
    reason: "interrupted",
    script: [stall({ ignoreSignal: true })],
    meanwhile: async ({ clock, control }) => {
      await clock.flush();
      control.interrupt("No, wait.");
    },
    text: "",
    deafProvider: true,
  },
  {
    title: "control.interrupt() before the start",
    status: "follow-up-interrupt",
    reason: "interrupted",
    script: [],
    meanwhile: ({ control }) => void control.interrupt("No, wait."),
    text: "",
  },
  {
    title: "control.interrupt() while tools run",
    status: "completed",
    reason: "answered",
    script: [[text("Hm. "), toolCall("later")], text("Done.")],
    meanwhile: async ({ clock, control }) => {
      await clock.advance(10);
      control.interrupt("No, wait.");
      await clock.advance(40);
    },
    text: "Done.",
  },
  {
    title: "a message steered into the last iteration",
    status: "completed",
    reason: "answered",
    script: [[text("Done."), wait(50)], text("Shorter.")],
    meanwhile: async ({ clock, control }) => {
      await clock.advance(10);
      control.steer("Shorter, please.");
      await clock.advance(40);
    },
    text: "Shorter.",
  },
  {
    title: "a message steered into the last iteration that is allowed",
    status: "completed",
    reason: "answered",
    script: [[text("Done."), wait(50)]],
    options: () => ({ limits: { maxIterations: 1 } }),
    meanwhile: async ({ clock, control }) => {
      await clock.advance(10);
      control.steer("Shorter, please.");
      await clock.advance(40);
    },
    text: "Done.",
  },
  {
    title: "control.drain() before the start",
    status: "suspended",
    reason: "drained",
    script: [],
    meanwhile: ({ control }) => void control.drain(),
    text: "",
  },
  {
    title: "control.drain() while tools run",
    status: "suspended",
    reason: "drained",
    script: [[text("Hm. "), toolCall("later"), toolCall("alone"), toolCall("broken")]],
    meanwhile: async ({ clock, control }) => {
      await clock.advance(10);
      control.drain();
      await clock.advance(40);
    },
    text: "Hm.",
  },
  {
    title: "a drain after a message steered into the last iteration",
    status: "suspended",
    reason: "drained",
    script: [[text("Done."), wait(50)]],
    meanwhile: async ({ clock, control }) => {
      await clock.advance(10);
      control.steer("Shorter, please.");
      control.drain();
      await clock.advance(40);
    },
    text: "Done.",
    // The drained run returned the steered message as undelivered, so the resumed run does not have it.
    goesOnTo: "Done.",
  },
  {
    title: "a call that waits for approval",
    status: "suspended",
    reason: "approval-required",
    script: [[text("Hm. "), toolCall("later"), toolCall("broken")]],
    options: () => ({ middleware: [approve(({ name }) => ({ kind: name === "later" ? "ask" : "approve" }))] }),
    text: "Hm.",
  },
  {
    title: "a call whose result comes from outside the run",
    status: "suspended",
    reason: "result-required",
    script: [[text("Hm. "), toolCall("page"), toolCall("broken")]],
    options: () => ({ tools: [tool("page", () => defer()), tool("broken", () => Promise.reject(new Error("no")))] }),
    text: "Hm.",
  },
];
