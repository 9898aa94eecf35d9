// Rules for files with private content: which symbolic links may be followed, and which file modes let other users read the file.
// Imports nothing from Node, so that browser code can bundle this file.

export interface FileFacts {
  readonly mode: number;
  readonly uid: number;
  isSymbolicLink(): boolean;
}

export interface LinkReader {
  lstat(path: string): FileFacts | undefined;
  readLink(path: string): string;
  resolve(link: string, target: string): string;
}

/** The maximum number of links to follow, as in Linux. */
const maxLinks = 40;

/**
 * Follows the symbolic links that begin at `path`, and returns the path to which they lead. Links owned by the user of this
 * process or by root are followed. For a link owned by another user, returns `{ refused }`, because that user could redirect
 * private content to any file.
 */
export function followOwnLinks(path: string, reader: LinkReader): { readonly place: string } | { readonly refused: string } {
  let place = path;
  for (let count = 0; count < maxLinks; count += 1) {
    const facts = reader.lstat(place);
    if (facts?.isSymbolicLink() !== true) break;
    if (!isTrusted(facts)) return { refused: place };
    place = reader.resolve(place, reader.readLink(place));
  }
  return { place };
}

/** Returns the user id of this process, or undefined on Windows, which has no user ids. */
const ownUser = (): number | undefined => globalThis.process?.geteuid?.();

function isTrusted({ uid }: FileFacts): boolean {
  const own = ownUser();
  return own === undefined || uid === own || uid === 0;
}

export function isOwn({ uid }: FileFacts): boolean {
  const own = ownUser();
  return own === undefined || uid === own;
}

/** Returns the file mode without access for other users, or undefined if the mode need not change. */
export function tightMode({ mode }: FileFacts): number | undefined {
  const isLoose = ownUser() !== undefined && (mode & 0o077) !== 0;
  return isLoose ? mode & 0o700 : undefined;
}
