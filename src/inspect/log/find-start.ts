import { open } from "node:fs/promises";

const starts = { log: '{"type":"log"', journal: '{"format":"turnwright-journal"' } as const;

/** Returns the kind of a file by its first bytes. Undefined for other files. Rejects with errors from the disk. */
export async function findStart(path: string): Promise<keyof typeof starts | undefined> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(starts.journal.length), 0, starts.journal.length, 0);
    const start = buffer.toString("latin1", 0, bytesRead);
    return (["log", "journal"] as const).find((kind) => start.startsWith(starts[kind]));
  } finally {
    await file.close();
  }
}
