// Chooses the names of a store's files, and writes the files so that a crash never leaves an incomplete one.

import { createHash, randomUUID } from "node:crypto";
import { open, rename, rm } from "node:fs/promises";

/**
 * Creates a file name of 40 hexadecimal digits from an id. The id itself is not used, because it may contain path separators, be too long,
 * or differ from another id only in case. An id with half of a surrogate pair cannot be written as UTF-8, so its UTF-16 form is hashed. A
 * byte that UTF-8 never contains comes first, so that the hash differs from that of every other id.
 */
export function toFileName(id: string): string {
  const hash = createHash("sha256");
  const isWhole = Buffer.from(id, "utf8").toString("utf8") === id;
  if (isWhole) hash.update(id, "utf8");
  else hash.update(Buffer.of(0xff)).update(id, "utf16le");
  return hash.digest("hex").slice(0, 40);
}

/** Writes a file under a temporary name, and then renames it. After a crash, `path` contains the complete old text or the complete new text. */
export async function writeWhole(path: string, text: string): Promise<void> {
  const draft = `${path}.${randomUUID()}.tmp`;
  try {
    const file = await open(draft, "wx", 0o600);
    try {
      await file.writeFile(text, "utf8");
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}
