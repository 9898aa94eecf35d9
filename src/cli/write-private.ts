// Writes the pages and exports.

import { randomBytes } from "node:crypto";
import { open, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { CliError, messageOf } from "./cli-io.ts";

const ownerOnly = 0o600;

/**
 * Writes a file that only its owner can read, because a log holds private texts. Replaces the file at the path. If the path is a
 * symbolic link, replaces the link, because another user of the folder could have made it.
 */
export async function writePrivate(path: string, text: string): Promise<void> {
  try {
    // A device such as /dev/stdout is not replaced. It may lead to a file that already has other texts.
    if (/^\/(?:dev|proc)\//.test(path)) await writeFile(path, text, { flag: "a" });
    else await replaceFile(path, text);
  } catch (error) {
    throw new CliError(`The file cannot be written: ${messageOf(error)}. Choose another path with -o.`, 1, { cause: error });
  }
}

async function replaceFile(path: string, text: string): Promise<void> {
  const temporary = join(dirname(path), `.turnwright-${randomBytes(12).toString("hex")}`);
  const file = await open(temporary, "wx", ownerOnly);
  try {
    try {
      await file.writeFile(text);
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}
