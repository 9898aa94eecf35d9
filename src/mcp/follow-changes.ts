// Follows the changes that an MCP server reports: when its tools are listed again, and how long a call waits for the new list.

/**
 * Never runs `act` twice at the same time. Calls of the returned function while `act` runs share a single further run of `act`.
 */
export function oneAfterAnother(act: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  const start = (): Promise<void> => {
    next = undefined;
    const own = act().finally(() => {
      if (running === own) running = undefined;
    });
    running = own;
    return own;
  };
  return () => {
    // `next` is checked before `running`. Between two runs, `running` is undefined for a moment, and a call at that moment would
    // start a third run.
    if (next !== undefined) return next;
    if (running === undefined) return start();
    next = running.then(start, start);
    return next;
  };
}

/** A call waits at most this many milliseconds for the list of tools. */
const longestWaitMs = 1_000;

/** The connection of the reports is this many milliseconds slower than the connection of the results. */
const lateMs = 10;

const never: Promise<void> = new Promise(() => {});

export interface Listing {
  /** Lists the tools soon. */
  request(): void;
  /** Notes a listing that something else has started. Returns `listing`. */
  follow(listing: Promise<void>): Promise<void>;
  /**
   * Resolves when the latest requested listing has ended, when `signal` aborts, or after a second. With `mayBeLate`, also waits a
   * moment for a report that has not arrived yet.
   */
  settled(signal: AbortSignal, mayBeLate: boolean): Promise<void>;
  stop(): void;
}

interface Later {
  readonly listed: Promise<void>;
  resolve(): void;
}

/** Runs `list` at each request, but pauses after each run. Requests during a pause cause one run after the pause. */
export function withRests(list: () => Promise<void>, restMs: number): Listing {
  let rest: ReturnType<typeof setTimeout> | undefined;
  let current: Promise<void> | undefined;
  let later: Later | undefined;
  const follow = (listing: Promise<void>): Promise<void> => {
    const forget = (): void => void (current === own && (current = undefined));
    const own = listing.then(forget, forget);
    current = own;
    return listing;
  };
  const start = (): Promise<void> => {
    rest = setTimeout(() => {
      rest = undefined;
      const asked = later;
      later = undefined;
      if (asked !== undefined) void start().then(asked.resolve, asked.resolve);
    }, restMs);
    return follow(list());
  };
  const request = (): void => {
    if (rest === undefined) void start();
    else later ??= waitForLater();
  };
  const stop = (): void => {
    clearTimeout(rest);
    later?.resolve();
  };
  const pending = (): Promise<void> | undefined => later?.listed ?? current;
  const settled = async (signal: AbortSignal, mayBeLate: boolean): Promise<void> => {
    if (pending() === undefined && mayBeLate) await waitFor(never, signal, lateMs);
    const listing = pending();
    if (listing !== undefined) await waitFor(listing, signal, longestWaitMs);
  };
  return { request, follow, settled, stop };
}

function waitForLater(): Later {
  let resolve = (): void => {};
  const listed = new Promise<void>((done) => (resolve = done));
  return { listed, resolve };
}

async function waitFor(listing: Promise<void>, signal: AbortSignal, mostMs: number): Promise<void> {
  if (signal.aborted) return;
  let release = (): void => {};
  const ended = new Promise<void>((resolve) => {
    const end = (): void => resolve();
    const timer = setTimeout(end, mostMs);
    signal.addEventListener("abort", end, { once: true });
    release = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
    };
  });
  await Promise.race([listing, ended]);
  release();
}
