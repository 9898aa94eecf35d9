import { checkMessages, type Journal, type Message, renderOutcome, type ToolResultPart } from "../core/entry-kit.ts";
import { inspectJournal, type JournalInspection } from "../journal/index.ts";
import type { Recovered } from "./conversation-state.ts";
import { unlessMissing } from "./unless-missing.ts";

/** Reads the messages and the spending of a run that was cut off from its journal. Returns undefined if the run has not begun. */
export async function recoverRun(journal: Journal | undefined): Promise<Recovered | undefined> {
  if (journal?.read === undefined) return undefined;
  // The journal does not exist if the process was killed before the run began.
  const inspection = await inspectJournal(journal).catch(unlessMissing);
  if (inspection === undefined || inspection.status === "not-started") return undefined;
  const { usage, costUSD } = inspection;
  return { messages: endCalls(inspection), usage, costUSD };
}

/** False if a run that has rejected has certainly recorded nothing, for example because its journal could not be opened. */
export async function hasBegun(journal: Journal | undefined): Promise<boolean> {
  if (journal?.read === undefined) return true;
  try {
    const inspection = await inspectJournal(journal).catch(unlessMissing);
    return inspection !== undefined && inspection.status !== "not-started";
  } catch {
    return true;
  }
}

/** Adds the missing results of calls. The model must know which of these calls may have run, so that it does not repeat them. */
function endCalls({ messages, pendingCalls }: JournalInspection): readonly Message[] {
  const begun = new Set(
    pendingCalls
      // The calls of nested runs have a path as `id`.
      .filter(({ id, callId, state }) => state !== "not-begun" && state !== "awaiting-approval" && !id.includes(`/${callId}`))
      .map(({ callId }) => callId),
  );
  const endCall = (part: ToolResultPart): ToolResultPart => {
    const { callId, name, outcome } = part;
    if (outcome !== "not-run" || !begun.has(callId)) return part;
    const call = { callId, name, args: {} };
    return { callId, name, outcome: "interrupted", result: renderOutcome({ kind: "interrupted", call, durationMs: 0 }) };
  };
  return checkMessages(messages, true).messages.map((message) =>
    message.role === "tool" ? { ...message, results: message.results.map(endCall) } : message,
  );
}
