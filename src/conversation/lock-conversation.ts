import { type Clock, isLoopError, systemClock } from "../core/entry-kit.ts";
import type { ConversationOptions } from "./conversation.ts";
import type { ConversationLock } from "./conversation-store.ts";

/** The time between two tries to lock a conversation, in milliseconds. */
const retryMs = 50;

interface Waiting {
  readonly clock?: Clock | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Locks a conversation. Waits up to `waitMs` while another run has it, or until the signal of the new run is aborted. */
export async function lockConversation(
  { id, store, waitMs = 0 }: Pick<ConversationOptions, "id" | "store" | "waitMs">,
  { clock = systemClock, signal }: Waiting,
): Promise<ConversationLock> {
  const until = clock.now() + waitMs;
  for (;;) {
    try {
      return await store.lock(id);
    } catch (error) {
      const left = until - clock.now();
      if (left <= 0 || signal?.aborted === true || !isLoopError(error, "conversation-busy")) throw error;
      await new Promise<void>((resolve) => void clock.setTimeout(resolve, Math.min(retryMs, left)));
    }
  }
}
