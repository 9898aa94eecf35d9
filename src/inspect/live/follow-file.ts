import { createHash } from "node:crypto";
import { constants, type FSWatcher, watch } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { dirname } from "node:path";
import { unlessMissing } from "../../shared/plain-error.ts";
import { onAbort } from "../../shared/signals.ts";
import { isLogStart } from "../log/log-file.ts";

/** The interval for polling a file or folder, in milliseconds. Polling is needed because some file systems do not report changes. */
const pollMs = 1000;

export class ChangeWatch {
  #watcher: FSWatcher | undefined;
  readonly #timer: NodeJS.Timeout;
  readonly #forget: () => void;
  readonly #waiting = new Set<() => void>();
  #isClosed = false;
  #hasChanged = false;

  /** Watches a path until `signal` fires. */
  constructor(path: string, signal: AbortSignal) {
    this.#forget = onAbort(signal, () => this.close());
    this.#timer = setInterval(() => this.#wake(), pollMs).unref();
    try {
      this.#watcher = watch(path, { persistent: false }, () => this.#wake());
      this.#watcher.on("error", () => this.#watcher?.close());
    } catch {
      // `watch` throws if the file does not exist yet or the system has no watchers left. The timer finds changes anyway.
    }
    if (signal.aborted) this.close();
  }

  #wake(): void {
    this.#hasChanged = true;
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const wake of waiting) wake();
  }

  /** Resolves to true after the next change, and to false after `close`. A change since the previous call to `next` counts too. */
  async next(): Promise<boolean> {
    if (!this.#isClosed && !this.#hasChanged) await new Promise<void>((resolve) => this.#waiting.add(resolve));
    this.#hasChanged = false;
    return !this.#isClosed;
  }

  close(): void {
    this.#isClosed = true;
    this.#forget();
    clearInterval(this.#timer);
    this.#watcher?.close();
    this.#wake();
  }
}

const chunkBytes = 2 ** 20;
const newline = 0x0a;

interface SeenLog {
  /** Changes if a different file is at the path, or if the file has a different first line. */
  readonly id: string;
  readonly size: number;
}

const firstLineBytes = 256;

/**
 * Opens a file only if it is a regular file. Another user of the folder could have replaced the log with a symbolic link to a
 * different file, or with a pipe that blocks forever.
 */
async function openLog(path: string): Promise<FileHandle> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  if ((await file.stat()).isFile()) return file;
  await file.close();
  throw new Error("The path is not a file.");
}

/** Reads a log's state. Returns undefined as long as the log has no complete first line. */
async function readSeen(file: FileHandle): Promise<SeenLog | undefined> {
  const { dev, ino, size } = await file.stat();
  const { buffer, bytesRead } = await file.read(Buffer.alloc(firstLineBytes), 0, firstLineBytes, 0);
  const start = buffer.subarray(0, bytesRead);
  const end = start.indexOf(newline);
  if (end < 0 && bytesRead < firstLineBytes) return undefined;
  if (!isLogStart(start)) throw new Error("The file is not a run log.");
  const line = end < 0 ? start : start.subarray(0, end);
  return { id: createHash("sha256").update(`${dev}-${ino}-`).update(line).digest("base64url"), size };
}

/**
 * Resolves to a log's state. Resolves to undefined if the file does not exist yet, or has no first line. Rejects if the file is not a
 * log.
 */
export async function lookAtLog(path: string): Promise<SeenLog | undefined> {
  try {
    const file = await openLog(path);
    try {
      return await readSeen(file);
    } finally {
      await file.close();
    }
  } catch (error) {
    return unlessMissing(error);
  }
}

/** Resolves when a log is at the path, or when `signal` is aborted. Rejects if the file at the path is not a log. */
export async function waitForLog(path: string, signal: AbortSignal): Promise<void> {
  // Watches the folder, because a file that does not exist cannot be watched.
  const changes = new ChangeWatch(dirname(path), signal);
  try {
    while (!signal.aborted && (await lookAtLog(path)) === undefined) await changes.next();
  } finally {
    changes.close();
  }
}

interface Following {
  readonly from: number;
  /** The id of the log to which the position belongs. */
  readonly id: string;
  readonly signal: AbortSignal;
}

/**
 * Yields a log's complete lines, starting at a position, until `signal` is aborted. Does not yield an incomplete last line, because after a
 * crash the next run removes it. Ends if the log becomes shorter, or a different log replaces it.
 */
export async function* followFile(path: string, { from, id, signal }: Following): AsyncGenerator<Buffer> {
  const changes = new ChangeWatch(path, signal);
  try {
    let position = from;
    do {
      const file = await openLog(path);
      try {
        const seen = await readSeen(file);
        if (seen?.id !== id || seen.size < position) return;
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
    changes.close();
  }
}

/** Yields the bytes from a position to the file's last line break. A line may be longer than a chunk. */
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
    // The file ends here for now. Bytes after the last line break are read again later, because the writer may still replace them.
    if (bytesRead < chunkBytes) return;
    open.push(bytes.subarray(end));
  }
}
