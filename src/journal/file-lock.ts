// A lock beside a file, for one writer at a time on one machine.
// Each writer appends a claim to the lock file. The first claim whose owner still lives holds the lock.

import { randomUUID } from "node:crypto";
import { type FileHandle, lstat, open, readFile, readlink, rm } from "node:fs/promises";
import { hostname } from "node:os";
import { isRecord, LoopError, parseJson } from "../core/entry-kit.ts";
import { constants } from "node:fs";

/** A process, as another process can look it up. The optional facts are known on Linux. */
interface LockOwner {
  readonly pid: number;
  readonly host: string;
  /** Names this copy of the package in its process: it knows by itself which of its locks it still holds. */
  readonly instance: string;
  /** Names this boot of the machine. */
  readonly boot?: string | undefined;
  /** Names the machine across boots. */
  readonly machine?: string | undefined;
  /** The PID and time namespaces: in another one, `pid` and `start` mean another process, or none. */
  readonly namespace?: string | undefined;
  /** When the process began, in ticks of this boot: process ids are used again. */
  readonly start?: string | undefined;
}

/** The state of a lock's owner. "unknown" is a process that this one cannot see. */
type OwnerState = "alive" | "dead" | "unknown";

const instance = randomUUID();
let own: Promise<LockOwner> | undefined;

/** This process. Read once, because nothing of it changes. */
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
  // A /proc of another PID namespace numbers processes otherwise.
  const isOwnProc = stat !== undefined && Number.parseInt(stat, 10) === process.pid;
  const start = isOwnProc ? startIn(stat) : undefined;
  return { pid: process.pid, host: hostname(), instance, boot, machine, namespace, start };
}

/** Whether the owner of a lock still runs. Answers "dead" only when that is certain. */
async function stateOf(owner: LockOwner, self: LockOwner): Promise<OwnerState> {
  if (owner.host !== self.host) return "unknown";
  if (owner.boot !== self.boot) return isBeforeReboot(owner, self) ? "dead" : "unknown";
  if (owner.namespace !== self.namespace || !canSeeProcesses(self)) return "unknown";
  if (!isRunning(owner.pid)) return "dead";
  if (owner.start === undefined || self.start === undefined) return "alive";
  const stat = await readText(`/proc/${owner.pid}/stat`);
  return stat === undefined || startIn(stat) === owner.start ? "alive" : "dead";
}

/** On Linux a process without a readable /proc does not know which namespace it is in. */
function canSeeProcesses({ namespace }: LockOwner): boolean {
  return namespace !== undefined || process.platform !== "linux";
}

/** The inode number of the first PID namespace, which Linux fixes. */
const firstNamespace = "pid:[4026531836]";

/** The same machine after a restart. Containers are left out: images of one origin may share a machine id. */
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
    // A process of another user exists too.
    return isRecord(error) && error["code"] === "EPERM";
  }
}

/** The start time in a `/proc/PID/stat`; "ended" for a process that only waits to be collected by its parent. */
function startIn(stat: string): string | undefined {
  // The process name before the last bracket may hold anything.
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

/** A claim that keeps others out, and what is known of its owner. */
interface Holder {
  readonly claim: Claim;
  readonly state: Exclude<OwnerState, "dead">;
}

/** The file that a writer locks. */
interface LockTarget {
  /** As the caller named it, for errors. */
  readonly path: string;
  /** The path of the file: absolute, without links. */
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
