import type { LoopResult } from "turnwright";
import type { JournalInspection } from "turnwright/journal";
import type { PendingCall } from "../../src/journal/inspect/inspect-journal.ts";

type Facts = { readonly [Fact in keyof JournalInspection]?: unknown };

const plain = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

function toQuestion(call: PendingCall): unknown {
  const { id, callId, name, args, state } = call;
  const waitsFor = state === "awaiting-result" ? "result" : "approval";
  const { toolChanges, fromPage } = { toolChanges: undefined, fromPage: undefined, ...call };
  return { id, callId, name, args, waitsFor, fromPage, toolChanges };
}

export function factsIn({ lastSeenMs: _, runId: __, initialMessages: ___, ...facts }: JournalInspection): Facts {
  const questions = facts.pendingCalls.filter(({ state }) => state.startsWith("awaiting-")).map(toQuestion);
  return plain({ ...facts, pendingCalls: questions });
}

export function factsOf(result: LoopResult): Facts {
  const { status, reason, messages, text, usage, costUSD, knownCostUSD, iterations, toolCallsExecuted } = result;
  const { compaction, agent, handoffs } = result;
  const pendingCalls = "calls" in reason ? reason.calls : [];
  const spent = { usage, costUSD, knownCostUSD, iterations, toolCallsExecuted };
  return plain({ status, reason, messages, pendingCalls, text, ...spent, compaction, agent, handoffs });
}
