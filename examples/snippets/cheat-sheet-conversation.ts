// A summary for llms.txt: conversations that keep their transcript. If a type here differs from the real type, the compiler reports
// an error.

import type { Journal, LoopOptions, LoopResult, LoopStream, Message } from "turnwright";
import type * as conversation from "turnwright/conversation";
import { type ArgumentOf, type Differing, expectNone } from "./same-names.ts";

type Options = conversation.ConversationOptions;
type PostgresPool = ArgumentOf<typeof conversation.postgresConversationStore>;
type RunOptions = Options["options"];
type KeepRuns = NonNullable<Options["keepRuns"]>;
type WhenSuspended = NonNullable<Options["whenSuspended"]>;
type NewMessages = ArgumentOf<conversation.Conversation["send"]>;
type Overrides = ArgumentOf<conversation.Conversation["send"], 1>;
type ResumeOverrides = ArgumentOf<conversation.Conversation["resume"]>;
type Status = NonNullable<Awaited<ReturnType<conversation.Conversation["status"]>>>;
type Spent = Awaited<ReturnType<conversation.Conversation["usage"]>>;

// #region conversation
interface ConversationEntry {
  createConversation(options: ConversationOptions): Conversation;
  memoryConversationStore(options?: { maxConversations?: number }): conversation.ConversationStore;
  fileConversationStore(directory: string, options?: { fsync?: boolean }): conversation.ConversationStore; // one machine
  postgresConversationStore(pool: PostgresPool, options?: { leaseMs?: number }): conversation.ConversationStore; // 30_000
}
interface ConversationOptions {
  id: string; // at most 200 characters, no slashes
  store: conversation.ConversationStore; // { load(id), lock(id), isLocked(id), remove(id), list?(), journal?(runId), removeJournal?(runId) }; check it with conversationStoreSuite
  options: RunOptions; // of each run, without messages, runId and journal
  journal?: (runId: string) => Journal; // so that another process can resume a run
  removeJournal?: (runId: string) => void | PromiseLike<void>; // for the journals that keepRuns does not keep
  keepRuns?: KeepRuns; // 1: only the journal of the last ended run; or { days }
  waitMs?: number; // 0: a second run rejects with "conversation-busy" at once
  whenSuspended?: WhenSuspended; // "refuse", "deny" or "queue": a new message while calls wait
  wrapOptions?: (options: LoopOptions) => LoopOptions; // adds a log or tracing to each run
}
interface Conversation {
  id: string;
  send(message?: NewMessages, options?: Overrides): Promise<LoopResult>;
  stream(message?: NewMessages, options?: Overrides): LoopStream;
  resume(options?: ResumeOverrides): Promise<LoopResult>; // { answers }, or { resume: "retry-last" }
  resumeStream(options?: ResumeOverrides): LoopStream;
  cancel(): Promise<void>; // ends a suspended run
  remove(): Promise<"removed" | "unknown">;
  messages(): Promise<readonly Message[]>;
  status(): Promise<Status | undefined>; // { runId, status, isLive, reason, undelivered }
  usage(): Promise<Spent>; // { usage, costUSD, knownCostUSD, runs } of all runs
  fork(id: string, options?: { atMessage?: number }): Promise<Conversation>; // its usage begins at 0
}
// #endregion conversation

expectNone<Differing<ConversationEntry, typeof conversation>>();
expectNone<Differing<ConversationOptions, conversation.ConversationOptions>>();
expectNone<Differing<Conversation, conversation.Conversation>>();
