// Calls the endpoints of Restate's admin API that a worker needs.

import { followSignal } from "../shared/signals.ts";
import { repeatFailed } from "../shared/repeat-failed.ts";

/** How long to keep retrying a failed request, and the pause between attempts, in milliseconds. */
const repeatForMs = 30_000;
const repeatAfterMs = 200;

/** The time limit for a request, in milliseconds. Restate may never answer a request that arrived while it was crashing. */
const answerMs = 5_000;

/**
 * Makes a request that is aborted when `signal` fires. Each request gets its own signal, because `fetch` leaves a listener on the signal it
 * is given.
 */
export async function whileOpen<T>(signal: AbortSignal, request: (own: AbortSignal) => Promise<T>): Promise<T> {
  signal.throwIfAborted();
  const own = followSignal(signal);
  const timer = setTimeout(
    () => own.abort(new Error(`Restate did not answer within ${answerMs} ms. Check that its server can be reached.`)),
    answerMs,
  );
  try {
    return await request(own.signal);
  } finally {
    clearTimeout(timer);
    own.release();
  }
}

export class Admin {
  readonly #url: string;
  readonly #signal: AbortSignal;

  /** Creates a client for the admin API at `url`. `signal` aborts all its requests. */
  constructor(url: string, signal: AbortSignal) {
    this.#url = url.replace(/\/+$/, "");
    this.#signal = signal;
  }

  /** Checks the connection. Rejects if Restate cannot be reached. */
  async check(): Promise<void> {
    await this.#request("GET", "/health");
  }

  /**
   * Registers the handlers' URL with Restate, which then calls it. The first calls may fail, for example because the load
   * balancer does not know this worker yet, so the registration is repeated. Repeating the registration does no harm.
   */
  async register(uri: string): Promise<void> {
    await this.#repeat(() => this.#request("POST", "/deployments", { uri, force: true }));
  }

  /** Starts a workflow's next attempt immediately if the workflow is waiting for it. Does nothing if an attempt is running. */
  async resume(invocation: string): Promise<void> {
    await this.#request("PATCH", `/invocations/${invocation}/resume`);
  }

  /** Ends a workflow immediately. */
  async kill(invocation: string): Promise<void> {
    await this.#request("PATCH", `/invocations/${invocation}/kill`);
  }

  /** Retries a failed request, for example while Restate restarts. */
  #repeat<T>(request: () => Promise<T>): Promise<T> {
    const mayRepeat = (): boolean => {
      this.#signal.throwIfAborted();
      return true;
    };
    return repeatFailed(request, { everyMs: repeatAfterMs, forMs: repeatForMs, mayRepeat });
  }

  #request(method: string, path: string, body?: unknown): Promise<string> {
    return whileOpen(this.#signal, async (signal) => {
      const response = await fetch(`${this.#url}${path}`, {
        method,
        signal,
        headers: { "content-type": "application/json", accept: "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      if (response.ok) return text;
      throw new Error(
        `Restate's admin API responded to ${method} ${path} with status ${response.status}: ${text.slice(0, 1_000)}`,
      );
    });
  }
}
