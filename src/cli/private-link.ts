// Opens a URL without naming it in the arguments of a program, which all users of the machine can read.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

export interface PrivateLink {
  /** The URL of a file that leads to the page. */
  readonly url: string;
  remove(): Promise<void>;
}

/** Writes a file that leads the browser to `url`. Only the owner can read it. */
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
