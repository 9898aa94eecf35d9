// Decides which symbolic links to a private file may be followed, and which file modes let other users read it. Imports nothing from Node,
// because browsers load this file too.

export interface FileFacts {
  readonly mode: number;
  readonly uid: number;
  isSymbolicLink(): boolean;
}

/** Functions of `node:fs` and `node:path`. */
export interface LinkReader {
  lstatSync(path: string, options: { readonly throwIfNoEntry: false }): FileFacts | undefined;
  readlinkSync(path: string): string;
  dirname(path: string): string;
  resolve(from: string, to: string): string;
}

/** The maximum number of links in a path, as on Linux. */
const maxLinks = 40;

/**
 * Follows symbolic links, and returns the final path. A link must belong to this process's user or to root. For any
 * other link, returns `{ refused }`, because the owner of such a link could redirect private content to any file.
 */
export function followOwnLinks(
  start: string,
  { lstatSync, readlinkSync, dirname, resolve }: LinkReader,
): { readonly place: string } | { readonly refused: string } {
  let place = start;
  for (let count = 0; count < maxLinks; count += 1) {
    const facts = lstatSync(place, { throwIfNoEntry: false });
    if (facts?.isSymbolicLink() !== true) break;
    if (!isTrusted(facts)) return { refused: place };
    place = resolve(dirname(place), readlinkSync(place));
  }
  return { place };
}

/** Returns this process's user id. Undefined on Windows, which has no user ids. */
const ownUser = (): number | undefined => globalThis.process?.geteuid?.();

function isTrusted({ uid }: FileFacts): boolean {
  const own = ownUser();
  return own === undefined || uid === own || uid === 0;
}

export function isOwn({ uid }: FileFacts): boolean {
  const own = ownUser();
  return own === undefined || uid === own;
}

export function tightMode({ mode }: FileFacts): number | undefined {
  const isLoose = ownUser() !== undefined && (mode & 0o077) !== 0;
  return isLoose ? mode & 0o700 : undefined;
}
