// Lets timers run while a stream sends nothing of use without ever waiting.

/** How many items without content may follow each other before the host gets a turn. */
const most = 256;

/** Counts the items without content in a row. A stream of them that never waits would stop every timer of the process. */
export class Lull {
  #count = 0;

  /** A promise of one turn of the host's event loop, once in a while. Undefined if there is nothing to wait for. */
  note(hasContent: boolean): Promise<void> | undefined {
    this.#count = hasContent ? 0 : this.#count + 1;
    if (this.#count < most) return undefined;
    this.#count = 0;
    return new Promise((resolve) => void globalThis.setTimeout(resolve, 0));
  }
}
