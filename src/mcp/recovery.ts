// Reconnects a client whose session has been lost.

/** The maximum time that a reconnection waits for other calls to end, in milliseconds. */
const maxWaitMs = 5_000;

export interface Recovery {
  /** Sends a request, after any reconnection in progress. */
  send(request: () => Promise<unknown>): Promise<unknown>;
  /** Reconnects the client. Resolves to false if this is not possible. Concurrent callers share one reconnection. */
  recover(error: unknown, signal: AbortSignal): Promise<boolean>;
}

/**
 * Creates a `Recovery`. `reconnect` is called only when no other request is in progress, because it closes the connection: a request that
 * the server is about to refuse would end with "Connection closed", and could not be sent again.
 */
export function createRecovery(reconnect: (error: unknown) => Promise<boolean>): Recovery {
  const sent = new Set<Promise<unknown>>();
  let recovering: Promise<boolean> | undefined;
  const recover = async (error: unknown, signal: AbortSignal): Promise<boolean> => {
    await waitFor(Promise.allSettled(sent), signal, maxWaitMs);
    return reconnect(error);
  };
  return {
    send: async (request) => {
      await recovering;
      const own = request();
      sent.add(own);
      return own.finally(() => sent.delete(own));
    },
    recover: (error, signal) => {
      recovering ??= recover(error, signal).finally(() => (recovering = undefined));
      return recovering;
    },
  };
}

/** Resolves when `ended` resolves, when `signal` aborts, or after `maxMs` milliseconds. */
export async function waitFor(ended: Promise<unknown>, signal: AbortSignal, maxMs: number): Promise<void> {
  if (signal.aborted) return;
  let release = (): void => {};
  const late = new Promise<void>((resolve) => {
    const end = (): void => resolve();
    const timer = setTimeout(end, maxMs);
    signal.addEventListener("abort", end, { once: true });
    release = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
    };
  });
  await Promise.race([ended, late]);
  release();
}
