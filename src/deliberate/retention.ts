// Remembers which tools succeeded in the last turns of each conversation.

import type { TriggerMatch } from "../core/entry-kit.ts";

/** How long and for how many is remembered. */
export interface RetentionLimits {
  readonly retainTurns: number;
  readonly maxConversations: number;
}

/** The memory of one turn. */
interface RememberedTurn {
  /** What succeeded in one of the last turns, and why it had been exposed. */
  readonly retained: ReadonlyMap<string, TriggerMatch>;
  /** Notes a success of this turn, also where later turns have begun since. */
  retain(name: string, match: TriggerMatch): void;
}

/** The successes of all conversations. */
export interface Retention {
  /** Begins the next turn of a conversation. Without one, nothing is remembered. */
  nextTurn(conversationId: string | undefined): RememberedTurn;
}

interface Conversation {
  turn: number;
  readonly successes: Map<string, Success>;
}

interface Success {
  readonly turn: number;
  readonly match: TriggerMatch;
}

const nothing: RememberedTurn = { retained: new Map(), retain: () => {} };

/** Makes an empty memory. */
export function createRetention({ retainTurns, maxConversations }: RetentionLimits): Retention {
  /** The one used last is the last. */
  const conversations = new Map<string, Conversation>();

  function open(id: string): Conversation {
    const conversation = conversations.get(id) ?? { turn: 0, successes: new Map() };
    conversations.delete(id);
    conversations.set(id, conversation);
    for (const oldest of conversations.keys()) {
      if (conversations.size <= maxConversations) break;
      conversations.delete(oldest);
    }
    return conversation;
  }

  function nextTurn(conversationId: string | undefined): RememberedTurn {
    if (conversationId === undefined || retainTurns === 0) return nothing;
    const conversation = open(conversationId);
    const { successes } = conversation;
    conversation.turn += 1;
    const { turn } = conversation;
    for (const [name, success] of successes) if (turn - success.turn > retainTurns) successes.delete(name);
    return {
      retained: new Map([...successes].map(([name, { match }]) => [name, match])),
      retain(name, match) {
        const known = successes.get(name);
        if (known === undefined || known.turn < turn) successes.set(name, { turn, match });
      },
    };
  }

  return { nextTurn };
}
