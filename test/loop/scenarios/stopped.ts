import { onIteration } from "turnwright";
import { stall, text, toolCall } from "turnwright/testing";
import { always, type Scenario } from "./scenario.ts";

export const stopped: readonly Scenario[] = [
  {
    title: "control.stop() during a stream",
    status: "stopped-by-user",
    reason: "stopped",
    script: [[text("Let me "), stall()]],
    meanwhile: async ({ clock, control }) => {
      await clock.flush();
      control.stop({ requester: "Ada", note: "enough" });
    },
    text: "Let me",
  },
  {
    title: "control.stop() called by a tool",
    status: "stopped-by-user",
    reason: "stopped",
    script: [[toolCall("stopper"), toolCall("alone")]],
    text: "",
  },
  {
    title: "control.stop() while tools run",
    status: "stopped-by-user",
    reason: "stopped",
    script: [[text("Working. "), toolCall("polite"), toolCall("echo", { say: "x" }), toolCall("deaf"), toolCall("alone")]],
    meanwhile: async ({ clock, control }) => {
      await clock.flush();
      control.stop();
      await clock.advance(5_000);
    },
    text: "Working.",
  },
  {
    title: "control.stop() before the start",
    status: "stopped-by-user",
    reason: "stopped",
    script: [],
    options: ({ control }) => (control.stop(), {}),
    text: "",
  },
  {
    title: "control.kill() during a tool that ignores its signal",
    status: "stopped-by-user",
    reason: "killed",
    script: [[text("Working. "), toolCall("deaf"), toolCall("echo", { say: "x" })]],
    meanwhile: async ({ clock, control }) => {
      await clock.flush();
      control.kill();
    },
    text: "Working.",
  },
  {
    title: "options.signal aborted during a stream that ignores its signal",
    status: "stopped-by-user",
    reason: "aborted",
    script: [[text("Le"), stall({ ignoreSignal: true })]],
    meanwhile: async ({ clock, abort }) => {
      await clock.flush();
      abort.abort(new Error("tab closed"));
    },
    text: "Le",
    deafProvider: true,
  },
  {
    title: "options.signal aborted before the start",
    status: "stopped-by-user",
    reason: "aborted",
    script: [],
    options: ({ abort }) => (abort.abort(), {}),
    text: "",
  },
  {
    title: "an onIteration hook that aborts",
    status: "stopped-by-user",
    reason: "iteration-abort",
    script: always("alone"),
    options: () => ({ middleware: [onIteration((n) => (n === 2 ? { abort: true, reason: "two is enough" } : undefined))] }),
    text: "Again.",
  },
];
