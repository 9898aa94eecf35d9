import { z } from "zod";
import { approve, detectLoops, gateTools, hasToolCall, stopWhen, structuredOutput } from "turnwright";
import { details, finish, providerMetadata, reasoning, text, thoughtLog, toolCall } from "turnwright/testing";
import { type Scenario } from "./scenario.ts";

export const completed: readonly Scenario[] = [
  { title: "a plain answer", status: "completed", reason: "answered", script: [text("Hello", { chunks: 3 })], text: "Hello" },
  {
    title: "two parallel calls, then one call, then an answer",
    status: "completed",
    reason: "answered",
    script: [
      [reasoning("Hm."), text("One moment. "), toolCall("later"), toolCall("echo", { say: "a" }, { fragments: 3 })],
      [toolCall("echo", { say: "b" })],
      [text(" It is done. "), details("Night."), thoughtLog({ mood: "calm" }), providerMetadata({ sign: "x" })],
    ],
    meanwhile: ({ clock }) => clock.advance(50),
    text: "It is done.",
  },
  {
    title: "a tool that returns endTurn",
    status: "completed",
    reason: "end-turn",
    script: [[text("Bye. "), toolCall("finish")]],
    text: "Bye.",
  },
  {
    title: "text and a call of a tool with requiresFollowUp: false",
    status: "completed",
    reason: "pre-tool-text",
    script: [[text("Noted. "), toolCall("note")]],
    text: "Noted.",
  },
  {
    title: "a stopWhen condition that holds after a call",
    status: "completed",
    reason: "stop-condition",
    script: [
      [text("Look. "), toolCall("echo", { say: "x" })],
      [text("So: "), toolCall("finish"), toolCall("alone")],
    ],
    options: () => ({ middleware: [stopWhen(hasToolCall("finish"))] }),
    text: "So:",
  },
  {
    title: "an async stopWhen condition with a model that answers",
    status: "completed",
    reason: "stop-condition",
    script: [[text("DONE")]],
    options: () => ({ middleware: [stopWhen([() => false, async () => ({ kind: "stop", reason: "enough" })])] }),
    text: "DONE",
  },
  {
    title: "repeated calls with a loop warning",
    status: "completed",
    reason: "answered",
    script: [toolCall("alone"), toolCall("alone"), toolCall("alone"), text("I see.")],
    options: () => ({ middleware: [detectLoops({ threshold: 2, action: "inject-warning" })] }),
    text: "I see.",
  },
  {
    title: "an answer that fits its schema on the second try",
    status: "completed",
    reason: "answered",
    script: [toolCall("alone"), text("Eight."), text('```json\n{ "n": 8 }\n```')],
    options: () => ({ middleware: [structuredOutput(z.object({ n: z.number() }))] }),
    text: '```json\n{ "n": 8 }\n```',
  },
  {
    title: "text cut off at the output limit",
    status: "completed",
    reason: "length",
    script: [[text("Half of"), finish("length")]],
    text: "Half of",
  },
  {
    title: "text cut off because the context is full",
    status: "completed",
    reason: "length",
    script: [[text("Half of"), finish("context-full")]],
    text: "Half of",
  },
  {
    title: "a refusal that also contains a call",
    status: "completed",
    reason: "refusal",
    script: [[text("No."), toolCall("echo", { say: "x" }), finish("refusal")]],
    text: "No.",
  },
  {
    title: "a content filter without text",
    status: "completed",
    reason: "content-filter",
    script: [finish("content-filter")],
    text: "",
  },
  {
    title: "an empty message after text",
    status: "completed",
    reason: "answered",
    script: [[text("Look:"), toolCall("echo", { say: "x" })], finish("stop")],
    text: "Look:",
  },
  {
    title: "an empty message after a tool result with an image",
    status: "completed",
    reason: "answered",
    script: [toolCall("picture"), finish("stop")],
    text: "",
  },
  {
    title: "a message of text with finish reason tool-calls",
    status: "completed",
    reason: "answered",
    script: [[text("So."), finish("tool-calls")]],
    text: "So.",
  },
  {
    title: "a paused message with two continuations",
    status: "completed",
    reason: "answered",
    script: [
      [text("One "), providerMetadata({ part: 1 }), finish("paused")],
      [text("two "), finish("continue", { token: "t" })],
      [text("three")],
    ],
    text: "One two three",
  },
  {
    title: "a tool call in a paused message, then a continuation",
    status: "completed",
    reason: "answered",
    script: [[toolCall("echo", { say: "x" }), finish("paused")], [finish("tool-calls")], text("Good.")],
    text: "Good.",
  },
  {
    title: "truncated calls, then an answer",
    status: "completed",
    reason: "answered",
    script: [[toolCall("echo", { say: "x" }), finish("length")], text("Short.")],
    text: "Short.",
  },
  {
    title: "malformed arguments, then an answer",
    status: "completed",
    reason: "answered",
    script: [toolCall("echo", {}, { rawArgs: '{"say": "a' }), text("Sorry.")],
    text: "Sorry.",
  },
  {
    title: "a message without calls and with finish reason malformed-call",
    status: "completed",
    reason: "answered",
    script: [finish("malformed-call"), text("Again.")],
    text: "Again.",
  },
  {
    title: "unknown tools and invalid input, then an answer",
    status: "completed",
    reason: "answered",
    script: [[toolCall("ecko", { say: "x" }), toolCall("echo", { say: 7 }), toolCall("__proto__")], text("Well.")],
    text: "Well.",
  },
  {
    title: "duplicate and missing call ids",
    status: "completed",
    reason: "answered",
    script: [
      [toolCall("echo", { say: "a" }, { id: "x" }), toolCall("echo", { say: "b" }, { id: "x" }), toolCall("alone")],
      [toolCall("echo", { say: "c" }, { id: "x" })],
      text("Fine."),
    ],
    text: "Fine.",
  },
  {
    title: "a tool that times out, then an answer",
    status: "completed",
    reason: "answered",
    script: [[toolCall("deaf"), toolCall("echo", { say: "x" })], text("Moving on.")],
    meanwhile: ({ clock }) => clock.advance(300_000),
    text: "Moving on.",
  },
  {
    title: "a context restart",
    status: "completed",
    reason: "answered",
    script: [[text("Wait. "), toolCall("enrich"), toolCall("echo", { say: "x" })], text("Hello Ada.")],
    text: "Hello Ada.",
  },
  {
    title: "a call that gateTools blocks",
    status: "completed",
    reason: "answered",
    script: [[toolCall("echo", { say: "x" }), toolCall("alone")], text("Allowed.")],
    options: () => ({
      middleware: [
        gateTools({
          active: true,
          allowedNames: ["alone"],
          triggerMatchByToolName: new Map([["alone", { trigger: "a*", match: "alone", source: "stem" }]]),
        }),
      ],
    }),
    text: "Allowed.",
  },
  {
    title: "calls that approve allows, denies and edits",
    status: "completed",
    reason: "answered",
    script: [[toolCall("echo", { say: "a" }), toolCall("alone"), toolCall("echo", { say: "c" })], text("Approved.")],
    options: () => ({
      middleware: [
        approve(async (call) => {
          if (call.name === "alone") return { kind: "deny", reason: "not today" };
          return call.callId.endsWith("_2") ? { kind: "modify", args: { say: "edited" } } : { kind: "approve" };
        }),
      ],
    }),
    text: "Approved.",
  },
  {
    title: "calls beyond maxToolCalls, then an answer",
    status: "completed",
    reason: "answered",
    script: [[toolCall("echo", { say: "a" }), toolCall("echo", { say: "b" })], text("Enough.")],
    options: () => ({ limits: { maxToolCalls: 1 } }),
    text: "Enough.",
  },
];
