// Functions that filter the messages before a handoff. Each decides which of them the new agent sees.

import type { AssistantMessage, Message } from "../../core/index.ts";
import { repairMessages } from "../../shared/repair-messages.ts";
import { describeValue } from "../../shared/texts.ts";
import { isRecord } from "../../core/kit.ts";
import type { Handoff } from "../../core/types/tool-outcome.ts";

/**
 * Filters the messages before the handoff to an agent. A resumed run calls the filter again with the same messages, so equal
 * messages must produce equal results. Tool results without their call are dropped.
 */
export type HistoryFilter = (messages: readonly Message[]) => readonly Message[];

/**
 * A filter that removes all tool calls and their results, so that the agent sees only text.
 *
 * @example const agents = createHandoffs({ start: "triage", agents: { triage, billing: { ...billing, history: withoutToolCalls } } });
 */
export function withoutToolCalls(messages: readonly Message[]): readonly Message[] {
  return messages.flatMap((message): readonly Message[] => {
    if (message.role === "user") return [message];
    if (message.role === "tool") return [];
    const rest = textsOf(message);
    return rest.content.length === 0 ? [] : [rest];
  });
}

/** Keeps only the text. Drops the provider metadata too, because it contains the calls. */
function textsOf({ role, content }: AssistantMessage): AssistantMessage {
  return { role, content: content.filter((part) => part.type === "text") };
}

interface Filtered {
  readonly before: readonly Message[];
  readonly filter: HistoryFilter;
  readonly messages: readonly Message[];
}

interface View {
  readonly base: readonly Message[];
  readonly kept: readonly Message[];
  readonly messages: readonly Message[];
}

/** A run's handoffs, in the form that a history view needs. */
export interface HandoffState {
  readonly agent: string | undefined;
  /** The number of messages before the handoff to the first agent. Undefined if no earlier run made such a handoff. */
  readonly agentSince: number | undefined;
  readonly handoffs: readonly Handoff[];
}

/** Returns a function that applies the current agent's filter to the messages before the last handoff. */
export function createHistoryView(
  state: HandoffState,
  filterOf: (agent: string) => HistoryFilter | undefined,
): (messages: readonly Message[]) => readonly Message[] | undefined {
  let filtered: Filtered | undefined;
  let view: View | undefined;
  return (base) => {
    const last = lastHandoff(state);
    const filter = last === undefined ? undefined : filterOf(last.to);
    if (last === undefined || filter === undefined) return undefined;
    const { messagesBefore } = last;
    const before = base.slice(0, messagesBefore);
    if (filtered?.filter !== filter || !isSame(filtered.before, before)) {
      filtered = { before, filter, messages: readMessages(filter(Object.freeze(before)), before) };
    }
    const kept = filtered.messages;
    if (view?.base !== base || view.kept !== kept) {
      const messages = Object.freeze([...kept, ...base.slice(messagesBefore)]);
      view = { base, kept, messages };
    }
    return view.messages;
  };
}

/** Returns the handoff that led to the current agent. An earlier run in the conversation may have made it. */
function lastHandoff({ handoffs, agent, agentSince }: HandoffState): Pick<Handoff, "to" | "messagesBefore"> | undefined {
  const isEarlier = handoffs.length === 0 && agent !== undefined && agentSince !== undefined;
  return isEarlier ? { to: agent, messagesBefore: agentSince } : handoffs.at(-1);
}

function isSame(first: readonly Message[], second: readonly Message[]): boolean {
  return first.length === second.length && first.every((message, index) => message === second[index]);
}

/**
 * Reads a filter's result. Removes assistant messages from its end, because the model has to answer a user message. If no
 * message is left, returns the last user message in `before`, because a request needs a message.
 */
function readMessages(filtered: unknown, before: readonly Message[]): readonly Message[] {
  if (!Array.isArray(filtered))
    throw new TypeError(`An agent's "history" filter must return an array of messages, but returned ${describeValue(filtered)}.`);
  // Results without their call are not sent, so a list that contains only such results counts as empty.
  const isEmpty = filtered.every((message: unknown) => isRecord(message) && message["role"] === "tool");
  const messages = isEmpty ? [] : repairMessages(filtered);
  const end = messages.findLastIndex(({ role }) => role !== "assistant");
  return end < 0 ? before.filter(({ role }) => role === "user").slice(-1) : messages.slice(0, end + 1);
}
