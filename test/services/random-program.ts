// Random programs: histories, tools, scripted models, settings, middleware and control calls.

import fc from "fast-check";
import type { Message, ModelSettings, ToolChoice } from "turnwright";
import { transcripts } from "../messages/transcripts.ts";
import { allRows, serverToolRows } from "./connect-strict.ts";
import { oddTools, toolNames } from "./program-tools.ts";
import type { ServerMove } from "./server-parts.ts";

export interface ScriptedCall {
  /** The position of the tool among the tools of the request. */
  readonly tool: number;
  readonly args: string;
  readonly fragments: number;
}

/** One message of the model. */
export interface ScriptedMessage {
  readonly reasoning: string;
  readonly text: string;
  readonly calls: readonly ScriptedCall[];
  /** Only played if the request declares a tool of the service. */
  readonly server: ServerMove;
  readonly end: "usual" | "length" | "early" | "busy" | "silent";
}

export interface Program {
  /** The services: the first one of the run, one for `withFallback`, and one to which the transcript goes in the end. */
  readonly rows: readonly [first: number, second: number, later: number];
  readonly wrapping: "none" | "retry" | "fallback";
  readonly history: readonly Message[];
  readonly converter: "none" | "chat" | "responses" | "anthropic" | "ui";
  readonly script: readonly ScriptedMessage[];
  readonly tools: readonly string[];
  readonly settings: ModelSettings;
  readonly system: "none" | "fixed" | "changing";
  readonly choice: ToolChoice | "named" | undefined;
  /** The iteration from which the run has no tools. */
  readonly hiddenFrom: number;
  readonly feature: "none" | "masking" | "compaction" | "handoffs" | "tool-search" | "output";
  readonly approve: "none" | "approve" | "deny" | "modify" | "ask";
  /** The decision about the calls and questions for which a run waits. "leave" for a run that is never resumed. */
  readonly decides: "approve" | "deny" | "modify" | "ask" | "leave";
  readonly finalAnswer: boolean;
  readonly maxIterations: number;
  readonly contextItems: boolean;
  readonly verbs: readonly { readonly atMs: number; readonly verb: "stop" | "steer" | "interrupt" | "drain" }[];
  /** The share of the journal with which the run is resumed. Undefined for no resumed run. */
  readonly resumeAt: number | undefined;
  readonly forks: boolean;
  readonly oddities: boolean | number;
}

const idForms: readonly ((id: string) => string)[] = [
  (id) => id,
  (id) => `functions.look:${id}`,
  (id) => `${"chatcmpl-tool-".repeat(5)}${id}`,
  (id) => `fc_${id}|${"x".repeat(80)}`,
];

/** Changes the call ids to those of another service. */
function withIds(messages: readonly Message[], toId: (id: string) => string): readonly Message[] {
  return messages.map((message): Message => {
    if (message.role === "tool")
      return { ...message, results: message.results.map((part) => ({ ...part, callId: toId(part.callId) })) };
    if (message.role === "user") return message;
    const content = message.content.map((part) => (part.type === "tool-call" ? { ...part, callId: toId(part.callId) } : part));
    return { ...message, content };
  });
}

/** A user's video or image of unknown type is refused before the request, because not every service takes it. */
function withoutOddMedia(messages: readonly Message[]): readonly Message[] {
  return messages.map((message) => {
    if (message.role !== "user" || typeof message.content === "string") return message;
    const content = message.content.filter((part) => part.type === "text" || !/video|\*/.test(part.mediaType));
    return { ...message, content: content.length === 0 ? "Hi" : content };
  });
}

const texts = fc.constantFrom("", "So.", "Half \ud83d", "\udc00 half", "NUL \u0000", " ", '{"a": 1}', "Emoji 😀.");

const call: fc.Arbitrary<ScriptedCall> = fc.record({
  tool: fc.oneof(fc.constant(0), fc.nat(12)),
  args: fc.constantFrom("{}", "{}", "{}", '{"at":"home"}', '{"at":"\\ud83d"}', "", "{", "[1]", "null", '{"kind":"a","n":1}'),
  fragments: fc.constantFrom(0, 1, 3),
});

const message: fc.Arbitrary<ScriptedMessage> = fc.record({
  reasoning: fc.constantFrom("", "", "Hm.", "Hm \ud83d."),
  text: texts,
  calls: fc.array(call, { maxLength: 3 }),
  server: fc.constantFrom("none", "answered", "open", "paused", "special", "special"),
  end: fc.constantFrom("usual", "usual", "usual", "usual", "usual", "length", "early", "busy", "silent"),
});

const settings: fc.Arbitrary<ModelSettings> = fc.record(
  {
    maxOutputTokens: fc.constantFrom(100, 4_000),
    temperature: fc.constantFrom(0, 1),
    topP: fc.constant(0.9),
    stopSequences: fc.constantFrom([], ["END"]),
    seed: fc.constant(1),
  },
  { requiredKeys: [] },
);

/** Services with tools of their own have more to show than others, so they are chosen more often. */
const row = fc.oneof(
  { weight: 2, arbitrary: fc.nat(allRows.length - 1) },
  { weight: 1, arbitrary: fc.constantFrom(...serverToolRows).map((chosen) => allRows.indexOf(chosen)) },
);

export const programs: fc.Arbitrary<Program> = fc.record({
  rows: fc.tuple(row, row, row),
  wrapping: fc.constantFrom("none", "none", "retry", "fallback"),
  history: fc.oneof(
    fc.constant([]),
    fc.tuple(transcripts, fc.constantFrom(...idForms)).map(([messages, toId]) => withIds(withoutOddMedia(messages), toId)),
  ),
  converter: fc.constantFrom("none", "chat", "responses", "anthropic", "ui"),
  script: fc.array(message, { minLength: 1, maxLength: 5 }),
  tools: fc
    .tuple(fc.subarray([...toolNames], { maxLength: 5 }), fc.subarray([...oddTools], { maxLength: 2 }))
    .map(([plain, odd]) => [...odd, ...plain]),
  settings,
  system: fc.constantFrom("none", "fixed", "changing"),
  choice: fc.constantFrom(undefined, undefined, "auto", "required", "none", "none", "named"),
  hiddenFrom: fc.constantFrom(1, 2, 99, 99, 99),
  feature: fc.constantFrom(
    "none",
    "masking",
    "compaction",
    "compaction",
    "handoffs",
    "handoffs",
    "tool-search",
    "tool-search",
    "output",
  ),
  approve: fc.constantFrom("none", "none", "approve", "deny", "modify", "ask"),
  decides: fc.constantFrom("approve", "approve", "deny", "modify", "ask", "leave"),
  finalAnswer: fc.boolean(),
  maxIterations: fc.integer({ min: 1, max: 5 }),
  contextItems: fc.boolean(),
  verbs: fc.array(
    fc.record({ atMs: fc.integer({ min: 0, max: 400 }), verb: fc.constantFrom("stop", "steer", "steer", "interrupt", "drain") }),
    { maxLength: 3 },
  ),
  resumeAt: fc.option(fc.double({ min: 0, max: 1, noNaN: true }), { nil: undefined, freq: 2 }),
  forks: fc.boolean(),
  oddities: fc.constantFrom(false, true, 1, 2),
});
