import type { TriggerMatch } from "../core/entry-kit.ts";
import { readText, type TriggerProblem } from "./trigger-table.ts";

const englishFollowUps: readonly string[] = [
  "again",
  "again please",
  "and again",
  "another",
  "another one",
  "another one please",
  "do it again",
  "do it again please",
  "do it once more",
  "do it one more time",
  "do that again",
  "do that again please",
  "do that once more",
  "do the same",
  "do the same again",
  "do this again",
  "once again",
  "once more",
  "once more please",
  "one more",
  "one more please",
  "one more time",
  "one more time please",
  "please do it again",
  "please do that again",
  "please try again",
  "redo",
  "redo it",
  "redo that",
  "repeat",
  "repeat it",
  "repeat that",
  "retry",
  "run it again",
  "same again",
  "same again please",
  "same thing again",
  "the same again",
  "try again",
  "try again please",
  "try it again",
  "try once more",
  "try that again",
];

interface FollowUps {
  readonly problems: readonly TriggerProblem[];
  isFollowUp(text: string): boolean;
}

export function createFollowUps(phrases: readonly string[] = englishFollowUps): FollowUps {
  const problems: TriggerProblem[] = [];
  const known = new Set<string>();
  for (const trigger of phrases) {
    const words = foldWords(trigger);
    if (words === "") problems.push({ toolName: undefined, trigger, problem: "contains no word" });
    else known.add(words);
  }
  return { problems, isFollowUp: (text) => known.has(foldWords(text)) };
}

function foldWords(text: string): string {
  return (readText(text).match(/[\p{L}\p{M}\p{N}_]+/gu) ?? []).join(" ").toLowerCase();
}

interface RetentionLimits {
  readonly retainTurns: number;
  readonly maxConversations: number;
}

interface RememberedTurn {
  readonly retained: ReadonlyMap<string, TriggerMatch>;
  /** Remembers that a tool succeeded in this turn, even if later turns have begun. */
  retain(name: string, match: TriggerMatch): void;
}

interface Retention {
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

export function createRetention({ retainTurns, maxConversations }: RetentionLimits): Retention {
  /** The conversations by id, least recently used first. */
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
