import { type Answer, toContextMessage } from "../../core/kit.ts";
import type { CompactionAnswer } from "../../core/types/middleware-options.ts";
import { type Json, LoopError, type Message, type ToolDefinition, type UserMessage } from "../../core/index.ts";
import { malformedNote, warnOfLoop } from "../../shared/model-notes.ts";
import type { LoggedRun } from "../../shared/run-log.ts";

/** A repeated iteration. Its last answer contains the outcomes of all its calls, so the replay needs no steps for calls. */
export type PastIteration = readonly Answer[];

/** A compaction before a repeated iteration: its summary, or the failure to write one. */
export interface PastCompaction {
  readonly cause: "due" | "forced";
  readonly answer: CompactionAnswer;
}

export interface Past {
  readonly runId: string;
  readonly iterations: readonly PastIteration[];
  /** The compactions before repeated iterations, by the number of the iteration that follows. */
  readonly compactions: ReadonlyMap<number, PastCompaction>;
  readonly messages: readonly Message[];
  readonly contextItems: readonly Json[];
  /** The user messages that the caller or the loop added before each iteration, by the number of the iteration. */
  readonly added: ReadonlyMap<number, readonly UserMessage[]>;
  /** The tools in the first iteration that runs again, as far as they are known. */
  readonly tools: readonly ToolDefinition[];
  readonly limits: LoggedRun["limits"];
  readonly provider: string;
  readonly model: string;
  readonly system?: string | undefined;
}

export function refuseRerun(iteration: number, problem: string): LoopError<"rerun-refused"> {
  return new LoopError("rerun-refused", { iteration, problem });
}

/** Returns the error for an iteration that is incomplete in the log or journal. A rerun can start at this iteration or before it. */
export function unknownIteration(
  from: number,
  { iteration, what }: { iteration: number; what: string },
): LoopError<"rerun-refused"> {
  return refuseRerun(from, `${what}. Choose iteration ${iteration} or an earlier one`);
}

/**
 * Finds the user messages that were added before each iteration. For each iteration, the transcript contains the assistant message if it
 * has content, then the results, and then the added messages.
 */
export function findAdded(
  past: readonly PastIteration[],
  transcript: readonly Message[],
  givenCount: number,
): ReadonlyMap<number, readonly UserMessage[]> {
  const added = new Map<number, readonly UserMessage[]>();
  let position = givenCount;
  for (const [number, streams] of past.entries()) {
    if (transcript[position]?.role === "assistant" && streams.some(hasContent)) position += 1;
    if (transcript[position]?.role === "tool") position += 1;
    const users = usersAt(transcript, position);
    position += users.length;
    const own = isNoted(streams, users) ? users.slice(1) : users;
    if (own.length > 0) added.set(number + 1, own);
  }
  return added;
}

function usersAt(transcript: readonly Message[], start: number): readonly UserMessage[] {
  const users: UserMessage[] = [];
  for (let next = transcript[start]; next?.role === "user"; next = transcript[start + users.length]) users.push(next);
  return users;
}

/** True if the first added message is a note about a malformed call, which the loop will add again automatically. */
function isNoted(streams: readonly Answer[], [first]: readonly UserMessage[]): boolean {
  return streams.at(-1)?.finish === "malformed-call" && textIn(first) === malformedNote;
}

function hasContent({ text, reasoning, calls, providerMetadata }: Answer): boolean {
  return text + reasoning !== "" || calls.length + providerMetadata.length > 0;
}

function textIn(message: Message | undefined): string | undefined {
  return message?.role === "user" && typeof message.content === "string" ? message.content : undefined;
}

export function isLoopWarning(message: UserMessage): boolean {
  const text = textIn(message);
  const [count] = /\d+/.exec(text ?? "") ?? [];
  return count !== undefined && text === warnOfLoop(Number(count));
}

const contextOf = (items: readonly Json[]): string | undefined => textIn(toContextMessage(items));

/**
 * Returns the message that contains the context items, as the only element of an array, if every request ends with it. Otherwise returns an
 * empty array.
 */
export function findContext(requests: readonly (readonly Message[])[]): readonly Json[] {
  const start = contextOf([""]) ?? "";
  const last = requests.map((messages) => textIn(messages.at(-1)) ?? "");
  const isContext = last.length > 0 && last.every((text) => text.startsWith(start));
  return isContext ? [(last[0] ?? "").slice(start.length)] : [];
}

/** Removes a final message that contains the context items. */
export function withoutContext(messages: readonly Message[], contextItems: readonly Json[]): readonly Message[] {
  const context = contextOf(contextItems);
  return context !== undefined && textIn(messages.at(-1)) === context ? messages.slice(0, -1) : messages;
}
