// Stops a command that ends itself.

const names = ["SIGINT", "SIGTERM"] as const;

type Signals = Pick<NodeJS.Process, "on" | "off">;

/** Returns a signal that the first SIGINT or SIGTERM aborts. The second one ends the process, as without a handler. */
export function createStopSignal(from: Signals = process): AbortSignal {
  const stop = new AbortController();
  const abort = (): void => {
    for (const name of names) from.off(name, abort);
    stop.abort();
  };
  for (const name of names) from.on(name, abort);
  return stop.signal;
}
