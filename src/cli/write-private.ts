import { randomBytes } from "node:crypto";
import { mkdtemp, open, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { tmpdir } from "node:os";
import { pathToFileURL } from "node:url";
import { CliError, messageOf } from "./cli-io.ts";

const ownerOnly = 0o600;

/**
 * Writes a file that only its owner can read, because a log holds private texts. Replaces the file at the path. If the path is a
 * symbolic link, replaces the link, because another user of the folder could have made the link.
 */
export async function writePrivate(path: string, text: string): Promise<void> {
  try {
    // A device such as /dev/stdout cannot be replaced. The text is appended, because the device may be redirected to a file that
    // already has text.
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

interface PrivateLink {
  readonly url: string;
  remove(): Promise<void>;
}

/**
 * Writes a file that redirects a browser to `url`, and that only its owner can read. The browser gets the path of this file as
 * its argument. It must not get the secret `url`, because all users of the machine can read the arguments of a process.
 */
export async function makePrivateLink(url: string): Promise<PrivateLink> {
  const folder = await mkdtemp(join(tmpdir(), "turnwright-"));
  const path = join(folder, "open.html");
  await writeFile(
    path,
    `<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url=${url}">
<title>Runs</title>
<a href="${url}">Open the page</a>
`,
    { mode: 0o600, flag: "wx" },
  );
  return { url: pathToFileURL(path).href, remove: () => rm(folder, { recursive: true, force: true }) };
}
