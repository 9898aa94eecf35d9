// Filters for the messages before a handoff. A filter decides which of these messages the new agent sees.

import { type AssistantMessage, checkMessages, type Handoff, type Message, type Run } from "../core/entry-kit.ts";

/**
 * Filters the messages before the handoff to an agent. A resumed run calls the filter again with the same messages, so equal
 * messages must give equal results. Tool results without their call are dropped.
 */
export type HistoryFilter = (messages: readonly Message[]) => readonly Message[];

/**
 * A filter that removes all tool calls and their results, so that an agent sees only texts.
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

/** Omits the provider metadata too, because the metadata contains the calls. */
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

/** Returns a function that filters the messages before the last handoff with the filter of the new agent. */
export function createHistoryView(
  { state }: Run,
  filterOf: (agent: string) => HistoryFilter | undefined,
): (messages: readonly Message[]) => readonly Message[] {
  let filtered: Filtered | undefined;
  let view: View | undefined;
  return (base) => {
    const last = lastHandoff(state);
    const filter = last === undefined ? undefined : filterOf(last.to);
    if (last === undefined || filter === undefined) return base;
    // `end` is counted from the end of `base`, because a compaction may have replaced messages at the beginning.
    const end = Math.max(0, base.length - (state.messages.length - last.messagesBefore));
    const before = base.slice(0, end);
    if (filtered?.filter !== filter || !isSame(filtered.before, before)) {
      filtered = { before, filter, messages: readMessages(filter(Object.freeze(before)), before) };
    }
    const kept = filtered.messages;
    if (view?.base !== base || view.kept !== kept) {
      view = { base, kept, messages: Object.freeze([...kept, ...base.slice(end)]) };
    }
    return view.messages;
  };
}

/** Returns the handoff to the current agent. An earlier run of the conversation may have made this handoff. */
function lastHandoff({ handoffs, agent, agentSince }: Run["state"]): Pick<Handoff, "to" | "messagesBefore"> | undefined {
  const isEarlier = handoffs.length === 0 && agent !== undefined && agentSince !== undefined;
  return isEarlier ? { to: agent, messagesBefore: agentSince } : handoffs.at(-1);
}

function isSame(first: readonly Message[], second: readonly Message[]): boolean {
  return first.length === second.length && first.every((message, index) => message === second[index]);
}

/**
 * Reads the result of a filter. Removes assistant messages at the end of the result, because the model has to answer a message of
 * the user. If no message is left, returns the last user message of `before`.
 */
function readMessages(filtered: readonly Message[], before: readonly Message[]): readonly Message[] {
  const { messages } = checkMessages(filtered, true);
  const end = messages.findLastIndex(({ role }) => role !== "assistant");
  return end < 0 ? before.filter(({ role }) => role === "user").slice(-1) : messages.slice(0, end + 1);
}
