// Numbers the attempts of a stream: its own, and those that the wrappers inside it tell of.

import type { ProviderError } from "../types/plain-error.ts";
import type { ModelChunk, Provider } from "../types/provider.ts";

/** Who answers an attempt. */
export interface Answerer {
  readonly provider: string;
  readonly model: string;
  readonly family?: string | undefined;
}

/** Whom a provider says it is. */
export function answererOf({ id, model, family }: Provider): Answerer {
  return { provider: id, model, family };
}

/** Tells of attempts as one row without gaps, from 1; each that has begun is discarded at most once. */
export class AttemptLog {
  readonly #tell: (chunk: ModelChunk) => void;
  #number = 0;
  /** Who answers the attempt that goes on; undefined between two attempts. */
  #current: Answerer | undefined;

  constructor(tell: (chunk: ModelChunk) => void) {
    this.#tell = tell;
  }

  /** Whether an attempt goes on. */
  get isOpen(): boolean {
    return this.#current !== undefined;
  }

  /**
   * A wrapper inside an attempt starts one too: that is the same attempt, and perhaps says more exactly who answers. What says nothing new
   * is not told; the answer is whether it was.
   */
  start({ provider, model, family }: Answerer): boolean {
    const before = this.#current;
    if (before === undefined) this.#number += 1;
    else if (before.provider === provider && before.model === model && before.family === family) return false;
    this.#current = { provider, model, family };
    this.repeat();
    return true;
  }

  /** Tells once more of the attempt that goes on. */
  repeat(): void {
    if (this.#current !== undefined) this.#tell({ type: "attempt-start", attempt: this.#number, ...this.#current });
  }

  discard(error: ProviderError): void {
    if (this.#current === undefined) return;
    this.#current = undefined;
    this.#tell({ type: "attempt-discarded", attempt: this.#number, error });
  }
}
