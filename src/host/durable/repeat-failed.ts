/** When a failed request is repeated. */
export interface Repetition {
  /** The time between two requests, in milliseconds. */
  readonly everyMs: number;
  /** False if the error is final. */
  readonly mayRepeat: (error: unknown) => boolean;
}

/** Repeats a request that fails, for example while a server restarts. Rejects with an error that is final. */
export async function repeatFailed<T>(request: () => Promise<T>, { everyMs, mayRepeat }: Repetition): Promise<T> {
  for (;;) {
    try {
      return await request();
    } catch (error) {
      if (!mayRepeat(error)) throw error;
      await new Promise((resolve) => setTimeout(resolve, everyMs));
    }
  }
}
