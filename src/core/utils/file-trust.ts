// Rules for files with private texts: which links may be followed, and which modes let others read. Imports nothing from Node, so
// that browser code can bundle it.

/** The file facts that the rules use, a subset of `fs.Stats`. */
export interface FileFacts {
  readonly mode: number;
  readonly uid: number;
  isSymbolicLink(): boolean;
}

/** The synchronous calls that `followOwnLinks` uses. */
export interface LinkReader {
  lstat(path: string): FileFacts | undefined;
  readLink(path: string): string;
  /** Resolves a link's target against the link's folder. */
  resolve(link: string, target: string): string;
}

/** The same limit as in Linux. */
const maxLinks = 40;

/**
 * Returns the path at the end of the symbolic links that begin at `path`. Follows links of the process's user and of root, which
 * are intentional. Returns `{ refused }` for a link of another user, who could redirect private texts to any file.
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

/** Undefined on Windows, which has no user ids. */
const ownUser = (): number | undefined => globalThis.process?.geteuid?.();

function isTrusted({ uid }: FileFacts): boolean {
  const own = ownUser();
  return own === undefined || uid === own || uid === 0;
}

/** True if the file belongs to the user of this process, or if the system has no user ids. */
export function isOwn({ uid }: FileFacts): boolean {
  const own = ownUser();
  return own === undefined || uid === own;
}

/** Returns the owner-only mode for a file that others may access; undefined if the mode need not change. */
export function tightMode({ mode }: FileFacts): number | undefined {
  const isLoose = ownUser() !== undefined && (mode & 0o077) !== 0;
  return isLoose ? mode & 0o700 : undefined;
}
