import { constants } from "node:fs";
import { open } from "node:fs/promises";

const starts = { log: '{"type":"log"', journal: '{"format":"turnwright-journal"' } as const;

/** Returns the kind of a file by its first bytes. Undefined for other files. Rejects with errors from the disk. */
export async function findStart(path: string): Promise<keyof typeof starts | undefined> {
  // Opening a pipe would wait for somebody who writes to it.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if (!(await file.stat()).isFile()) return undefined;
    const { buffer, bytesRead } = await file.read(Buffer.alloc(starts.journal.length), 0, starts.journal.length, 0);
    const start = buffer.toString("latin1", 0, bytesRead);
    return (["log", "journal"] as const).find((kind) => start.startsWith(starts[kind]));
  } finally {
    await file.close();
  }
}

export function isLogStart(bytes: Buffer): boolean {
  return bytes.toString("latin1", 0, starts.log.length) === starts.log;
}
