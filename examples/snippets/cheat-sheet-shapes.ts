// A summary for llms.txt: messages, `functionHistory`, and deliberate mode. If a type here differs from the real type, the
// compiler reports an error.

import assert from "node:assert/strict";
import {
  type AssistantMessage,
  type ContentPart,
  type Json,
  type LoopResult,
  type Message,
  type PlainError,
  type ToolDefinition,
  type ToolMessage,
  type ToolOutcome,
  type ToolRegistry,
  type ToolResultPart,
  type UserMessage,
} from "turnwright";
import type { ProviderMetadataPart } from "turnwright/kit";
import { createDeliberateMode, type DeliberateMode } from "turnwright/middleware";
import { type ArgumentOf, type Differing, expectNone } from "./same-names.ts";

type ToolHistoryEntry = LoopResult["functionHistory"][number];
type DeliberateModeOptions = ArgumentOf<typeof createDeliberateMode>;
type DeliberateTurn = ArgumentOf<DeliberateMode["forTurn"]>;
type DeliberateTurnGate = ReturnType<DeliberateMode["forTurn"]>;
type TriggerMatch = DeliberateTurnGate["triggerMatchByToolName"] extends ReadonlyMap<string, infer Match> ? Match : never;

// #region messages
const messages: readonly Message[] = [
  {
    role: "user",
    content: [
      { type: "text", text: "What is this?" }, // `content` may also be a string
      { type: "image", mediaType: "image/png", data: "iVBORw0KGgo=" }, // base64, or a URL as an object or a text: "https://…", "data:…"
      { type: "file", mediaType: "application/pdf", data: new URL("https://example.com/tides.pdf") },
    ],
  },
  {
    role: "assistant",
    content: [
      { type: "reasoning", text: "It looks like a chart." },
      { type: "text", text: "One moment." },
      // if a person edited the arguments, `approvedArgs` has the edited arguments
      { type: "tool-call", callId: "call_1", name: "search", args: { query: "tides" } },
    ],
  },
  { role: "tool", results: [{ callId: "call_1", name: "search", outcome: "completed", result: ["A page about tides"] }] },
];
// #endregion messages

// #region shapes
interface User {
  role: "user";
  id?: string | undefined; // an id of your own, by which a host recognizes a message that arrives twice; never sent to a model
  pinned?: boolean | undefined; // true keeps the message in all requests, even after a compaction
  metadata?: { readonly [key: string]: Json | undefined } | undefined; // your own data, never sent to a model
  content: string | readonly ContentPart[];
}

interface Assistant {
  role: "assistant";
  content: AssistantMessage["content"];
  providerMetadata?: readonly ProviderMetadataPart[] | undefined; // the provider's own form of the message
}

interface Results {
  role: "tool";
  results: readonly Answer[]; // one for each call of the previous message, in call order
}

interface Answer {
  callId: string;
  name: string;
  outcome: ToolOutcome["kind"] | "restarted" | "awaiting-approval";
  result: Json; // the model reads this
  content?: readonly ContentPart[] | undefined;
}

interface HistoryEntry {
  functionCall: { readonly id: string; readonly name: string; readonly args: Json };
  functionResponse: { readonly name: string; readonly response: { readonly result: Json } };
  outcome: ToolOutcome["kind"];
  approvedArgs?: Json | undefined; // the arguments that an approval or a check set
  processed?: true | undefined; // processResults changed the result
  error?: PlainError | undefined; // for the outcome approval-failed
  iteration: number;
  durationMs: number;
  content?: readonly ContentPart[] | undefined;
  preToolText?: string | undefined; // text of the same iteration
  endTurn?: true | undefined; // the tool asked to end the run
}

interface ModeOptions {
  tools?: readonly Pick<ToolDefinition, "name" | "triggers">[] | ToolRegistry; // tools that declare triggers
  triggers?: { readonly [toolName: string]: string | readonly string[] }; // replace declared triggers: phrases, "stem*", "^" for always, "/regexp/i"
  retainTurns?: number; // 4
  followUps?: readonly string[]; // replaces "again", "do that again", ...
  maxConversations?: number; // 10,000
}

interface Turn {
  conversationId?: string; // without an id, no tool is retained
  text: string;
  recent?: readonly string[]; // earlier messages of the user, oldest first
}

interface TurnGate {
  active: true;
  allowedNames: ReadonlySet<string>;
  triggerMatchByToolName: ReadonlyMap<string, TriggerMatch>;
  unsearched: readonly string[]; // regular expressions that were skipped because of the time limit
  retain(name: string): void;
}
// #endregion shapes

expectNone<Differing<User, UserMessage>>();
expectNone<Differing<Assistant, AssistantMessage>>();
expectNone<Differing<Results, ToolMessage>>();
expectNone<Differing<Answer, ToolResultPart>>();
expectNone<Differing<HistoryEntry, ToolHistoryEntry>>();
expectNone<Differing<ModeOptions, DeliberateModeOptions>>();
expectNone<Differing<Turn, DeliberateTurn>>();
expectNone<Differing<TurnGate, DeliberateTurnGate>>();

/** The compiler reports an error here if the summary differs from the real types. */
const holds: {
  readonly message: (message: User | Assistant | Results) => Message;
  readonly entry: (entry: ToolHistoryEntry) => HistoryEntry;
  readonly mode: (options: ModeOptions) => (turn: Turn) => TurnGate;
} = {
  message: (message) => message,
  entry: (entry) => entry,
  mode: (options) => (turn) => createDeliberateMode(options).forTurn(turn),
};
assert.deepEqual([...holds.mode({ triggers: { search: "look up" } })({ text: "Look up the tide." }).allowedNames], ["search"]);
assert.deepEqual(
  messages.map(({ role }) => role),
  ["user", "assistant", "tool"],
);
