// Numbers the attempts of a provider that may make several.

import type { ProviderError } from "../core/types/common.ts";
import type { ModelChunk, ModelRequest, Provider } from "../core/types/provider.ts";

export interface Answerer {
  readonly provider: string;
  readonly model: string;
  readonly family?: string | undefined;
  readonly isFinal?: boolean | undefined;
}

export function answererOf({ id, model, family }: Provider): Answerer {
  return { provider: id, model, family };
}

/**
 * Emits `attempt-start` and `attempt-discarded`. Numbers the attempts from 1 without gaps, and discards each attempt at most
 * once.
 */
export class AttemptLog {
  readonly #tell: (chunk: ModelChunk) => void;
  #number = 0;
  #current: Answerer | undefined;

  constructor(tell: (chunk: ModelChunk) => void) {
    this.#tell = tell;
  }

  get isOpen(): boolean {
    return this.#current !== undefined;
  }

  /**
   * Starts an attempt and emits `attempt-start`. If an attempt is already open, no new attempt starts: the open attempt keeps its
   * number, and gets the new provider and model. This happens if the attempt's provider is itself a wrapper, such as
   * `withFallback`. Returns false, and emits nothing, if nothing has changed.
   */
  start({ provider, model, family, isFinal = false }: Answerer): boolean {
    const before = this.#current;
    if (before === undefined) this.#number += 1;
    else if (before.provider === provider && before.model === model && before.family === family && before.isFinal === isFinal)
      return false;
    this.#current = { provider, model, family, isFinal };
    this.repeat();
    return true;
  }

  repeat(): void {
    if (this.#current === undefined) return;
    const { isFinal, ...answerer } = this.#current;
    this.#tell({ type: "attempt-start", attempt: this.#number, ...answerer, ...(isFinal === true && { isFinal }) });
  }

  discard(error: ProviderError): void {
    if (this.#current === undefined) return;
    this.#current = undefined;
    this.#tell({ type: "attempt-discarded", attempt: this.#number, error });
  }
}

export function continuesMessage({ continuationToken, messages }: ModelRequest): boolean {
  return continuationToken !== undefined || messages.at(-1)?.role === "assistant";
}
