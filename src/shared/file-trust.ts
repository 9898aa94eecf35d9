// Opens private files: decides which symbolic links may be followed, and which file modes let other users read a file. Imports nothing from
// Node, because browsers load this file too.

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

/** Functions of `node:fs` and `node:path`. */
interface FileOpener extends LinkReader {
  readonly constants: { readonly O_CREAT: number; readonly O_NOFOLLOW?: number; readonly O_NONBLOCK?: number };
  mkdirSync(path: string, options: { readonly recursive: true; readonly mode: number }): unknown;
  openSync(path: string, flags: number, mode: number): number;
  fstatSync(file: number): FileFacts & { readonly nlink: number; readonly size: number; isFile(): boolean };
  fchmodSync(file: number, mode: number): void;
  closeSync(file: number): void;
}

interface FilePorts {
  readonly fs: FileOpener;
  /** Returns the error for a file that cannot be trusted. */
  refuse(problem: string): Error;
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

/**
 * Opens a file that only its owner can read. Creates it and its folder if they do not exist. If the file cannot be trusted, throws the
 * error from `refuse`.
 */
export function openOwnFile(path: string, flags: number, { fs, refuse }: FilePorts): number {
  const end = followOwnLinks(path, fs);
  if ("refused" in end)
    throw refuse(
      `${end.refused} is a symbolic link that belongs to another user. Remove it, or pass the path to the file itself`,
    );
  fs.mkdirSync(fs.dirname(end.place), { recursive: true, mode: 0o700 });
  const { O_CREAT, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = fs.constants; // Windows has only the first of these flags.
  const file = fs.openSync(end.place, flags | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600);
  try {
    const facts = fs.fstatSync(file);
    if (!facts.isFile()) throw refuse("it is not a regular file. Choose another path");
    if (facts.nlink > 1)
      throw refuse("it has other hard links. Remove those links, or remove the file so that it can be created again");
    const mode = tightMode(facts);
    if (mode !== undefined) tighten(() => fs.fchmodSync(file, mode), facts, refuse);
    return file;
  } catch (error) {
    fs.closeSync(file);
    throw error;
  }
}

function tighten(change: () => void, facts: FileFacts, refuse: FilePorts["refuse"]): void {
  try {
    change();
  } catch {
    // A file system without modes, such as FAT, reports the same mode for all files, and `chmod` fails. That is accepted for the user's file.
    if (!isOwn(facts)) throw refuse("it belongs to another user, and other users can read it. Use a file that you own");
  }
}

export function isOwn({ uid }: FileFacts): boolean {
  const own = ownUser();
  return own === undefined || uid === own;
}

export function tightMode({ mode }: FileFacts): number | undefined {
  const isLoose = ownUser() !== undefined && (mode & 0o077) !== 0;
  return isLoose ? mode & 0o700 : undefined;
}
