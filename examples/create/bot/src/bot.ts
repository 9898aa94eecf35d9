// A bot in many rooms. Each room has one conversation and at most one live run.

import { createLoopControl, type LoopResult, type Provider, type Tool } from "turnwright";
import { type ConversationStore, createConversation } from "turnwright/conversation";

export interface BotOptions {
  readonly provider: Provider;
  readonly tools: readonly Tool[];
  /** Keeps the conversations, so that the bot remembers them after a restart. */
  readonly store: ConversationStore;
  reply(room: string, text: string): Promise<void>;
}

export interface Bot {
  /** Resolves when the room has its answer. A message that arrives before that interrupts the model, which then answers both. */
  hear(room: string, text: string): Promise<void>;
}

interface Room {
  serve(text: string): Promise<void>;
}

export function createBot({ store, reply, ...options }: BotOptions): Bot {
  const rooms = new Map<string, Room>();

  function open(id: string): Room {
    const control = createLoopControl();
    const system = "You are a bot in a chat. Answer in at most three sentences.";
    const limits = { maxIterations: 10, wallClockMs: 120_000 };
    const conversation = createConversation({ id, store, options: { ...options, system, limits, control } });
    let working: Promise<void> | undefined;

    async function answer(text: string): Promise<void> {
      for (let result = await conversation.send(text); ; result = await conversation.send()) {
        const isInterrupted = result.reason.kind === "interrupted";
        if (!isInterrupted) await reply(id, toReply(result));
        // Messages that the run did not read are stored with the conversation. The next run begins with them.
        if (!isInterrupted && result.undelivered.length === 0) return;
      }
    }

    return {
      async serve(text) {
        if (working !== undefined && control.interrupt(text) === "accepted") return working;
        const before = working;
        const mine = (async () => {
          await before?.catch(() => {}); // its own caller hears of it
          await answer(text);
        })();
        working = mine;
        try {
          await mine;
        } finally {
          if (working === mine) working = undefined;
        }
      },
    };
  }

  return {
    hear(id, text) {
      const room = rooms.get(id) ?? open(id);
      rooms.set(id, room);
      return room.serve(text);
    },
  };
}

/** Users must not see errors of services, which may contain internal names. */
function toReply({ status, text, reason }: LoopResult): string {
  if (status === "completed" && text !== "") return text;
  return text !== "" ? `${text} …` : `Sorry, I have no answer (${reason.kind}). Please try again.`;
}
