// A lock file allows one writer at a time on one machine. Each writer appends a claim, a JSON line that identifies it. The first claim
// whose process is alive holds the lock.

import { randomUUID } from "node:crypto";
import { type FileHandle, lstat, open, readFile, readlink, rm } from "node:fs/promises";
import { hostname } from "node:os";
import { isRecord } from "../core/kit.ts";
import { LoopError } from "../core/index.ts";
import { parseJson } from "../shared/json.ts";
import { unlessMissing } from "../shared/plain-error.ts";
import { constants } from "node:fs";

/** Identifies a process to other processes. The optional fields are only known on Linux. */
interface LockOwner {
  readonly pid: number;
  readonly host: string;
  /** Identifies one loaded copy of this package. Each copy knows which of its own locks it still holds. */
  readonly instance: string;
  /** The id of the machine's current boot, which changes with each restart. */
  readonly boot?: string | undefined;
  /** Identifies the machine. Stays the same after a restart. */
  readonly machine?: string | undefined;
  /** The PID and time namespaces of the process. `pid` and `start` are only valid inside these namespaces. */
  readonly namespace?: string | undefined;
  /** The start time of the process, in clock ticks since the machine started. Distinguishes processes with the same `pid`. */
  readonly start?: string | undefined;
}

/** The state of the process that owns a lock. "unknown" if this process cannot check it. */
type OwnerState = "alive" | "dead" | "unknown";

let own: Promise<LockOwner> | undefined;

function ownIdentity(): Promise<LockOwner> {
  return (own ??= readIdentity());
}

async function readIdentity(): Promise<LockOwner> {
  const [boot, machine, pidSpace, timeSpace, stat] = await Promise.all([
    readText("/proc/sys/kernel/random/boot_id"),
    readText("/etc/machine-id"),
    readlink("/proc/self/ns/pid").catch(unreadable),
    readlink("/proc/self/ns/time").catch(unreadable),
    readText("/proc/self/stat"),
  ]);
  const namespace = pidSpace === undefined ? undefined : `${pidSpace} ${timeSpace ?? ""}`;
  // If /proc belongs to another PID namespace, `/proc/<pid>` describes a different process, so the start time stays unknown.
  const isOwnProc = stat !== undefined && Number.parseInt(stat, 10) === process.pid;
  const start = isOwnProc ? startIn(stat) : undefined;
  return { pid: process.pid, host: hostname(), instance: randomUUID(), boot, machine, namespace, start };
}

/** Returns the state of a lock's owner: "dead" only if the process has certainly ended. */
async function stateOf(owner: LockOwner, self: LockOwner): Promise<OwnerState> {
  if (owner.host !== self.host) return "unknown";
  if (owner.boot !== self.boot) return isBeforeReboot(owner, self) ? "dead" : "unknown";
  if (owner.namespace !== self.namespace || !canSeeProcesses(self)) return "unknown";
  if (!isRunning(owner.pid)) return "dead";
  if (owner.start === undefined || self.start === undefined) return "alive";
  const stat = await readText(`/proc/${owner.pid}/stat`);
  return stat === undefined || startIn(stat) === owner.start ? "alive" : "dead";
}

/** True if this process can interpret other processes' ids. On Linux, it can do so only if its own namespace is known. */
function canSeeProcesses({ namespace }: LockOwner): boolean {
  return namespace !== undefined || process.platform !== "linux";
}

/** The name of Linux's initial PID namespace, whose inode number is the same on every machine. */
const firstNamespace = "pid:[4026531836]";

/**
 * True if the owner ran before the last restart of this machine. Always false in containers, because containers created from the same image
 * may have the same machine id on different machines.
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
    // EPERM means that the process is alive but belongs to another user.
    return isRecord(error) && error["code"] === "EPERM";
  }
}

function startIn(stat: string): string | undefined {
  // Searches for the last parenthesis, because the process name in parentheses may itself contain parentheses and spaces.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state = ""] = fields;
  return state === "Z" || state === "X" ? "ended" : fields[19];
}

async function readText(path: string): Promise<string | undefined> {
  const text = await readFile(path, "latin1").catch(unreadable);
  return text?.trim();
}

interface Claim extends LockOwner {
  readonly token: string;
}

interface Holder {
  readonly claim: Claim;
  readonly state: Exclude<OwnerState, "dead">;
}

interface LockTarget {
  readonly path: string;
  readonly place: string;
}

/**
 * Tokens of the locks that this copy of the package holds or requests. A claim by this copy with any other token belongs to a lock that has
 * already been released.
 */
const ownTokens = new Set<string>();

/**
 * Flags for opening a file. `O_NOFOLLOW` refuses a symbolic link. With `O_NONBLOCK`, opening a pipe does not wait for a process
 * at the other end. Windows does not define these flags.
 */
export const openGuards: number = (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/**
 * Locks a file until the returned function is called. Ignores claims from processes that have ended. Throws LoopError
 * "journal-locked" if another writer holds the lock, or may hold it.
 */
export async function lockFile(target: LockTarget): Promise<() => Promise<void>> {
  const lockPath = `${target.place}.lock`;
  const claim: Claim = { token: randomUUID(), ...(await ownIdentity()) };
  ownTokens.add(claim.token);
  // Deletes the token last: without it, another run in this process would take over the lock file, which is about to be removed.
  const unlock = (): Promise<void> => removeLock(lockPath, claim).finally(() => ownTokens.delete(claim.token));
  try {
    while (!(await claimFile(target, lockPath, claim)));
    return unlock;
  } catch (error) {
    ownTokens.delete(claim.token);
    throw error;
  }
}

/** Tries once to lock the file. Returns false if the lock file was removed or replaced after this function opened it. */
async function claimFile(target: LockTarget, lockPath: string, claim: Claim): Promise<boolean> {
  const file = await openLock(target, lockPath);
  try {
    const before = await findHolder(await readAll(file), claim);
    // Checks before writing the claim, because a refused writer's claim would otherwise hold the lock once the current holder exits.
    if (before !== undefined) return await refuseUnlessGone({ target, lockPath, file, holder: before });
    // The previous line may be incomplete because the disk was full. The `;` makes that line invalid, so that it does not count as a claim.
    await file.appendFile(`;\n${JSON.stringify(claim)}\n`);
    const holder = await findHolder(await readAll(file), claim);
    if (holder === undefined) return await isAt(lockPath, file);
    await file.appendFile(`;\n${JSON.stringify({ withdrawn: claim.token })}\n`);
    return await refuseUnlessGone({ target, lockPath, file, holder });
  } finally {
    await file.close();
  }
}

/** True while another writer holds, or may hold, a file's lock. Neither waits nor writes. */
export async function isFileLocked(place: string): Promise<boolean> {
  const text = await readFile(`${place}.lock`, {
    encoding: "utf8",
    flag: constants.O_RDONLY | (constants.O_NONBLOCK ?? 0),
  }).catch(unlessMissing);
  return text !== undefined && (await findHolder(text, { token: "", ...(await ownIdentity()) })) !== undefined;
}

interface Refusal {
  readonly target: LockTarget;
  readonly lockPath: string;
  readonly file: FileHandle;
  readonly holder: Holder;
}

async function refuseUnlessGone({ target: { path }, lockPath, file, holder: { claim, state } }: Refusal): Promise<false> {
  if (!(await isAt(lockPath, file))) return false;
  throw new LoopError("journal-locked", { path, lockPath, pid: claim.pid, host: claim.host, isVisible: state === "alive" });
}

/** Opens the lock file without following links, because another user may have put a link in its place. */
async function openLock({ path }: LockTarget, lockPath: string): Promise<FileHandle> {
  const refuse = (): never => {
    throw new LoopError("journal-refused", {
      path,
      problem: `its lock file ${lockPath} is not a regular file, or has hard links. Remove the lock file`,
    });
  };
  const there = await lstat(lockPath).catch(unreadable);
  if (there !== undefined && !there.isFile() && !there.isDirectory()) refuse();
  const file = await open(lockPath, constants.O_RDWR | constants.O_CREAT | constants.O_APPEND | openGuards, 0o600);
  try {
    const { nlink } = await file.stat();
    if (nlink > 1) refuse();
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

/**
 * Removes the lock file if it contains this claim. Otherwise, our lock file was removed, and the current one belongs to another
 * process.
 */
async function removeLock(lockPath: string, { token }: Claim): Promise<void> {
  const text = await readFile(lockPath, "utf8").catch(unreadable);
  if (text?.includes(token) === true) await rm(lockPath, { force: true });
}

async function findHolder(text: string, own: Claim): Promise<Holder | undefined> {
  // Ignores text after the last line break, which another process is still writing, or was writing when it ended.
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

async function readAll(file: FileHandle): Promise<string> {
  const { size } = await file.stat();
  // Sets `position`, because reading would otherwise start after the last write.
  const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(size), position: 0 });
  return buffer.toString("utf8", 0, bytesRead);
}

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
