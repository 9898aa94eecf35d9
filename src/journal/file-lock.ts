// A lock beside a file, for one writer at a time on one machine. Each writer appends a claim to the lock file; the first claim whose
// owner is not dead has the lock. Appending puts claims into one order, so that all agree on the holder, also when several find a dead one.

import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, lstat, open, readFile, rm } from "node:fs/promises";
import { isRecord, LoopError, parseJson } from "../core/entry-kit.ts";
import { type LockOwner, type OwnerState, ownIdentity, stateOf } from "./lock-owner.ts";

/** One line of a lock file. */
interface Claim extends LockOwner {
  readonly token: string;
}

/** A claim that keeps others out, and what is known of its owner. */
interface Holder {
  readonly claim: Claim;
  readonly state: Exclude<OwnerState, "dead">;
}

/** What a writer locks. */
export interface LockTarget {
  /** As the caller named it, for errors. */
  readonly path: string;
  /** Where the file is: absolute, without links. */
  readonly place: string;
}

/** Locks that this copy of the package holds, or is about to. A claim of its own that is not here was never finished or is over. */
const ownTokens = new Set<string>();

/** Windows has neither flag. Without O_NONBLOCK a pipe in the place of the lock could hold up the process. */
const lockFlags =
  constants.O_RDWR | constants.O_CREAT | constants.O_APPEND | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/**
 * Locks a file until the returned function is called. Throws LoopError "journal-locked" if another writer has it, or may have it. The
 * claim of a dead process does not count.
 */
export async function lockFile(target: LockTarget): Promise<() => Promise<void>> {
  const lockPath = `${target.place}.lock`;
  const claim: Claim = { token: randomUUID(), ...(await ownIdentity()) };
  ownTokens.add(claim.token);
  const unlock = (): Promise<void> => {
    ownTokens.delete(claim.token);
    return removeLock(lockPath, claim);
  };
  try {
    while (!(await claimFile(target, lockPath, claim)));
    return unlock;
  } catch (error) {
    ownTokens.delete(claim.token);
    throw error;
  }
}

/** One try. False if the lock file that the claim is in has been removed meanwhile. */
async function claimFile(target: LockTarget, lockPath: string, claim: Claim): Promise<boolean> {
  const file = await openLock(target, lockPath);
  try {
    const before = await findHolder(await readAll(file), claim);
    // Refused without a trace: a claim that is left in the file would count once the holder is dead.
    if (before !== undefined) return await refuseUnlessGone({ target, lockPath, file, holder: before });
    // The mark ends a line that a full disk has cut off, so that it never reads as a whole claim.
    await file.appendFile(`;\n${JSON.stringify(claim)}\n`);
    const holder = await findHolder(await readAll(file), claim);
    if (holder === undefined) return await isAt(lockPath, file);
    await file.appendFile(`;\n${JSON.stringify({ withdrawn: claim.token })}\n`);
    return await refuseUnlessGone({ target, lockPath, file, holder });
  } finally {
    await file.close();
  }
}

interface Refusal {
  readonly target: LockTarget;
  readonly lockPath: string;
  readonly file: FileHandle;
  readonly holder: Holder;
}

/** A holder that has just let go has removed the file: then there is another try. */
async function refuseUnlessGone({ target: { path }, lockPath, file, holder: { claim, state } }: Refusal): Promise<false> {
  if (!(await isAt(lockPath, file))) return false;
  throw new LoopError("journal-locked", { path, lockPath, pid: claim.pid, host: claim.host, isVisible: state === "alive" });
}

/** Nothing is written through a link: what stands in the place of the lock may have been put there by somebody else. */
async function openLock({ path }: LockTarget, lockPath: string): Promise<FileHandle> {
  const refuse = (): never => {
    throw new LoopError("journal-refused", { path, problem: `its lock ${lockPath} is not a plain file of its own: remove it` });
  };
  const there = await lstat(lockPath).catch(unreadable);
  if (there !== undefined && !there.isFile() && !there.isDirectory()) refuse();
  const file = await open(lockPath, lockFlags, 0o600);
  try {
    const { nlink } = await file.stat();
    if (nlink > 1) refuse();
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** Somebody may have removed the lock by hand, and another process have it now. */
async function removeLock(lockPath: string, { token }: Claim): Promise<void> {
  const text = await readFile(lockPath, "utf8").catch(unreadable);
  if (text?.includes(token) === true) await rm(lockPath, { force: true });
}

/** The owner of the first claim before this one that counts. */
async function findHolder(text: string, own: Claim): Promise<Holder | undefined> {
  // The last line has no end while it is being written, or because its process died over it.
  const lines = text.split("\n").slice(0, -1).map(parseJson);
  const withdrawn = new Set(lines.map((line) => (isRecord(line) ? line["withdrawn"] : undefined)));
  for (const claim of lines.filter(isClaim)) {
    if (claim.token === own.token) return undefined;
    if (withdrawn.has(claim.token)) continue;
    const state = await stateOfClaim(claim, own);
    if (state !== "dead") return { claim, state };
  }
  return undefined;
}

async function stateOfClaim(claim: Claim, own: Claim): Promise<OwnerState> {
  if (claim.instance === own.instance) return ownTokens.has(claim.token) ? "alive" : "dead";
  return stateOf(claim, own);
}

/** From the beginning, wherever it was written to last. */
async function readAll(file: FileHandle): Promise<string> {
  const { size } = await file.stat();
  const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(size), position: 0 });
  return buffer.toString("utf8", 0, bytesRead);
}

/** Whether a path still names an open file. */
export async function isAt(path: string, file: Pick<FileHandle, "stat">): Promise<boolean> {
  const [there, here] = await Promise.all([lstat(path, { bigint: true }).catch(unreadable), file.stat({ bigint: true })]);
  return there?.ino === here.ino && there.dev === here.dev;
}

function unreadable(): undefined {
  return undefined;
}

function isClaim(line: unknown): line is Claim {
  return (
    isRecord(line) && typeof line["token"] === "string" && typeof line["pid"] === "number" && typeof line["host"] === "string"
  );
}
