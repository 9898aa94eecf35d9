// Writes the files that commands make of logs.

import { open } from "node:fs/promises";
import { basename } from "node:path";
import { CliError } from "./cli-io.ts";

const ownerOnly = 0o600;

/** Writes a file that only its owner can read, because a log holds private texts. */
export async function writePrivate(path: string, text: string): Promise<void> {
  try {
    const file = await open(path, "w", ownerOnly);
    try {
      // The mode above only applies to a new file.
      if ((await file.stat()).isFile()) await file.chmod(ownerOnly);
      await file.writeFile(text);
    } finally {
      await file.close();
    }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new CliError(`The file cannot be written: ${reason}. Choose another path with -o.`, 1, { cause: error });
  }
}

/** Returns the name of a log without ".jsonl". */
export function nameWithoutEnding(path: string): string {
  return basename(path).replace(/\.jsonl?$/, "");
}
