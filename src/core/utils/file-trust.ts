// Rules for files that hold private texts: which links may be followed, and which modes let others read. Imports nothing of Node, so that
// callers for browsers can bundle it.

/** The facts of a file that the rules use; `fs.Stats` has them. */
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

/** As many as Linux follows. */
const maxLinks = 40;

/**
 * The path at the end of the symbolic links that begin at `path`. Follows links of the process's own user and of root, as a person or an
 * administrator makes them on purpose. Gives `{ refused }` for a link of anybody else, who could send texts to a file of their choice.
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

/** Windows has no user ids here. */
const ownUser = (): number | undefined => globalThis.process?.geteuid?.();

function isTrusted({ uid }: FileFacts): boolean {
  const own = ownUser();
  return own === undefined || uid === own || uid === 0;
}

/** Whether the file belongs to the user of this process, as far as the system knows users. */
export function isOwn({ uid }: FileFacts): boolean {
  const own = ownUser();
  return own === undefined || uid === own;
}

/** The mode that lets only the owner in, for a file that lets others in; undefined for one that need not change. */
export function tightMode({ mode }: FileFacts): number | undefined {
  const isLoose = ownUser() !== undefined && (mode & 0o077) !== 0;
  return isLoose ? mode & 0o700 : undefined;
}
