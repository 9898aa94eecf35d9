import { toProviderError } from "../errors/provider-error.ts";
import type { ProviderError } from "../types/common.ts";
import type { Message } from "../types/message.ts";
import type { ModelCall } from "../types/provider.ts";

/** The messages whose reasoning a service has refused. */
export interface RefusedReasoning {
  /** Adds the messages of the model. Returns false if all of them were refused before. */
  refuse(messages: readonly Message[]): boolean;
  has(message: Message): boolean;
}

export function createRefusedReasoning(): RefusedReasoning {
  const refused = new WeakSet<Message>();
  return {
    refuse: (messages) => {
      const fresh = messages.filter((message) => message.role === "assistant" && !refused.has(message));
      for (const message of fresh) refused.add(message);
      return fresh.length > 0;
    },
    has: (message) => refused.has(message),
  };
}

type Send = (signal: AbortSignal) => Promise<unknown>;

/**
 * Sends a request. If the service refuses it, `adapt` may change what is sent next, and the request is sent again. `adapt` returns
 * false if there is nothing to change.
 */
export function sendAdapted(send: Send, adapt: (error: ProviderError) => boolean, call: ModelCall): Send {
  const open = async (signal: AbortSignal): Promise<unknown> => {
    try {
      return await send(signal);
    } catch (error) {
      // The service refused the request before the model read it, so nothing was spent.
      if (signal.aborted || !adapt(toProviderError(error)) || call.mayAsk?.([]) === false) throw error;
      return open(signal);
    }
  };
  return open;
}
