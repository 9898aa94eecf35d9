// A lock file for one writer at a time on one machine. Each writer appends a claim to it. The first claim whose owner is alive
// holds the lock.

import { randomUUID } from "node:crypto";
import { type FileHandle, lstat, open, readFile, readlink, rm } from "node:fs/promises";
import { hostname } from "node:os";
import { isRecord, LoopError, parseJson } from "../core/entry-kit.ts";
import { constants } from "node:fs";

/** The identity of a process for other processes. The optional facts are known on Linux. */
interface LockOwner {
  readonly pid: number;
  readonly host: string;
  /** Identifies this copy of the package in its process, which knows which of its locks it still holds. */
  readonly instance: string;
  /** Identifies this boot of the machine. */
  readonly boot?: string | undefined;
  /** Identifies the machine across boots. */
  readonly machine?: string | undefined;
  /** The PID and time namespaces. In another namespace, `pid` and `start` refer to another process, or to none. */
  readonly namespace?: string | undefined;
  /** When the process began, in ticks of this boot, because process ids are reused. */
  readonly start?: string | undefined;
}

/** The state of a lock's owner. "unknown" is a process that cannot be seen from here. */
type OwnerState = "alive" | "dead" | "unknown";

const instance = randomUUID();
let own: Promise<LockOwner> | undefined;

/** Returns the identity of this process. Cached, because it never changes. */
function ownIdentity(): Promise<LockOwner> {
  return (own ??= readIdentity());
}

async function readIdentity(): Promise<LockOwner> {
  const [boot, machine, pidSpace, timeSpace, stat] = await Promise.all([
    readText("/proc/sys/kernel/random/boot_id"),
    readText("/etc/machine-id"),
    readlink("/proc/self/ns/pid").catch(unreadableOwner),
    readlink("/proc/self/ns/time").catch(unreadableOwner),
    readText("/proc/self/stat"),
  ]);
  const namespace = pidSpace === undefined ? undefined : `${pidSpace} ${timeSpace ?? ""}`;
  // The /proc of another PID namespace uses other process ids.
  const isOwnProc = stat !== undefined && Number.parseInt(stat, 10) === process.pid;
  const start = isOwnProc ? startIn(stat) : undefined;
  return { pid: process.pid, host: hostname(), instance, boot, machine, namespace, start };
}

/** Returns the state of a lock's owner. "dead" only if that is certain. */
async function stateOf(owner: LockOwner, self: LockOwner): Promise<OwnerState> {
  if (owner.host !== self.host) return "unknown";
  if (owner.boot !== self.boot) return isBeforeReboot(owner, self) ? "dead" : "unknown";
  if (owner.namespace !== self.namespace || !canSeeProcesses(self)) return "unknown";
  if (!isRunning(owner.pid)) return "dead";
  if (owner.start === undefined || self.start === undefined) return "alive";
  const stat = await readText(`/proc/${owner.pid}/stat`);
  return stat === undefined || startIn(stat) === owner.start ? "alive" : "dead";
}

/** True if this process can see others. On Linux, a process without a readable /proc does not know its namespace. */
function canSeeProcesses({ namespace }: LockOwner): boolean {
  return namespace !== undefined || process.platform !== "linux";
}

/** The inode number of the initial PID namespace, which is constant in Linux. */
const firstNamespace = "pid:[4026531836]";

/**
 * True if the owner ran before a restart of the same machine. Excludes containers, because images with one origin may share a
 * machine id.
 */
function isBeforeReboot(owner: LockOwner, self: LockOwner): boolean {
  if (owner.boot === undefined || self.boot === undefined) return false;
  const isMachine = owner.machine !== undefined && owner.machine !== "" && owner.machine === self.machine;
  return isMachine && [owner, self].every(({ namespace }) => namespace?.startsWith(firstNamespace) === true);
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM means that the process exists and belongs to another user.
    return isRecord(error) && error["code"] === "EPERM";
  }
}

/** Reads the start time from `/proc/PID/stat`; "ended" for a zombie process. */
function startIn(stat: string): string | undefined {
  // The process name before the last bracket may contain any character.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state = ""] = fields;
  return state === "Z" || state === "X" ? "ended" : fields[19];
}

async function readText(path: string): Promise<string | undefined> {
  const text = await readFile(path, "latin1").catch(unreadableOwner);
  return text?.trim();
}

function unreadableOwner(): undefined {
  return undefined;
}

/** One line of a lock file. */
interface Claim extends LockOwner {
  readonly token: string;
}

/** A claim that excludes others, and the state of its owner. */
interface Holder {
  readonly claim: Claim;
  readonly state: Exclude<OwnerState, "dead">;
}

/** The file that a writer locks. */
interface LockTarget {
  /** As the caller passed it, for errors. */
  readonly path: string;
  /** The absolute path of the file, without links. */
  readonly place: string;
}

/** Locks that this copy of the package holds, or is about to hold. Any other claim of this copy was never completed, or is over. */
const ownTokens = new Set<string>();

/** Windows has neither flag. Without O_NONBLOCK, a pipe in place of the lock file could block the process. */
const lockFlags =
  constants.O_RDWR | constants.O_CREAT | constants.O_APPEND | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/**
 * Locks a file until the returned function is called. Throws LoopError "journal-locked" if another writer holds it, or may hold
 * it. The claim of a dead process does not count.
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

/** Tries once to lock the file. Returns false if the lock file with the claim was removed meanwhile. */
async function claimFile(target: LockTarget, lockPath: string, claim: Claim): Promise<boolean> {
  const file = await openLock(target, lockPath);
  try {
    const before = await findHolder(await readAll(file), claim);
    // Rejected without a claim, because a claim that stays in the file would count once the holder is dead.
    if (before !== undefined) return await refuseUnlessGone({ target, lockPath, file, holder: before });
    // The separator ends a line that a full disk has cut off, so that it never reads as a complete claim.
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

/** Throws, unless the holder has just released the lock and removed the file. Returns false then, so that there is another try. */
async function refuseUnlessGone({ target: { path }, lockPath, file, holder: { claim, state } }: Refusal): Promise<false> {
  if (!(await isAt(lockPath, file))) return false;
  throw new LoopError("journal-locked", { path, lockPath, pid: claim.pid, host: claim.host, isVisible: state === "alive" });
}

/** Does not follow links: somebody else may have put a link in place of the lock file. */
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

/** Reads the file first, because somebody may have removed the lock by hand, and another process may hold it now. */
async function removeLock(lockPath: string, { token }: Claim): Promise<void> {
  const text = await readFile(lockPath, "utf8").catch(unreadable);
  if (text?.includes(token) === true) await rm(lockPath, { force: true });
}

/** Returns the owner of the first valid claim before this one. */
async function findHolder(text: string, own: Claim): Promise<Holder | undefined> {
  // The last line is incomplete if it is being written, or if its process died during the write.
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

/** Reads from the beginning, not from the position of the last write. */
async function readAll(file: FileHandle): Promise<string> {
  const { size } = await file.stat();
  const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(size), position: 0 });
  return buffer.toString("utf8", 0, bytesRead);
}

/** True if a path still refers to an open file. */
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
