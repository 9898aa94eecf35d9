// Sends a file that grows: first what it has, then what is added.

import { type FSWatcher, watch } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";

/** How often a file or a folder is checked, in milliseconds. Some file systems do not report changes. */
const pollMs = 1000;

/** Waits for changes of a file or a folder, with the events of the system and a timer. */
export class ChangeWatch {
  #watcher: FSWatcher | undefined;
  readonly #timer: NodeJS.Timeout;
  readonly #waiting = new Set<() => void>();
  #isClosed = false;
  #hasChanged = false;

  constructor(path: string) {
    this.#timer = setInterval(() => this.#wake(), pollMs).unref();
    try {
      this.#watcher = watch(path, { persistent: false }, () => this.#wake());
      this.#watcher.on("error", () => this.#watcher?.close());
    } catch {
      // The timer is enough. The file may not exist yet, or the system may have no watcher left.
    }
  }

  #wake(): void {
    this.#hasChanged = true;
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const wake of waiting) wake();
  }

  /** Resolves to true after the next change, and to false after `close`. A change since the last call counts too. */
  async next(): Promise<boolean> {
    if (!this.#isClosed && !this.#hasChanged) await new Promise<void>((resolve) => this.#waiting.add(resolve));
    this.#hasChanged = false;
    return !this.#isClosed;
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#timer);
    this.#watcher?.close();
    this.#wake();
  }
}

const chunkBytes = 2 ** 20;
const newline = 0x0a;

/**
 * Yields the complete lines of a file from a position on, until `signal` is aborted. After a crash, the next run removes an
 * incomplete last line, so such a line is not sent. Ends if the file becomes shorter than what was already read, because it then
 * is another file.
 */
export async function* followFile(path: string, from: number, signal: AbortSignal): AsyncGenerator<Buffer> {
  const changes = new ChangeWatch(path);
  const stop = (): void => changes.close();
  signal.addEventListener("abort", stop, { once: true });
  try {
    let position = from;
    do {
      const file = await open(path);
      try {
        if ((await file.stat()).size < position) return;
        for await (const bytes of readLines(file, position)) {
          if (signal.aborted) return;
          position += bytes.length;
          yield bytes;
        }
      } finally {
        await file.close();
      }
    } while (!signal.aborted && (await changes.next()));
  } finally {
    signal.removeEventListener("abort", stop);
    changes.close();
  }
}

/** Yields the bytes from a position to the last line break of the file. A line may be longer than a chunk. */
async function* readLines(file: FileHandle, from: number): AsyncGenerator<Buffer> {
  let open: Buffer[] = [];
  for (let position = from; ;) {
    const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(chunkBytes), 0, chunkBytes, position);
    position += bytesRead;
    const bytes = buffer.subarray(0, bytesRead);
    const end = bytes.lastIndexOf(newline) + 1;
    if (end > 0) {
      yield* open;
      yield bytes.subarray(0, end);
      open = [];
    }
    // The file has ended. Its last bytes are read again, because they may be replaced until then.
    if (bytesRead < chunkBytes) return;
    open.push(bytes.subarray(end));
  }
}
