// Does what is asked for again and again, with a rest after each time.

/** Something that is done when it is asked for. */
export interface Rested {
  /** Does it now, or once when the rest after the last time is over. */
  ask(): void;
  /** Drops what waits for the end of a rest. */
  stop(): void;
}

/** Keeps `act` from being done more often than once in `restMs`. The last one who asks is never left out. */
export function withRests(act: () => void, restMs: number): Rested {
  let rest: ReturnType<typeof setTimeout> | undefined;
  let isAsked = false;
  const ask = (): void => {
    isAsked = rest !== undefined;
    if (isAsked) return;
    rest = setTimeout(() => {
      rest = undefined;
      if (isAsked) ask();
    }, restMs);
    act();
  };
  return { ask, stop: () => clearTimeout(rest) };
}
