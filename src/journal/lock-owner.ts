// Who holds a lock: enough facts about a process to say later whether it is dead, and to know when that cannot be said.

import { randomUUID } from "node:crypto";
import { readFile, readlink } from "node:fs/promises";
import { hostname } from "node:os";
import { isRecord } from "../core/entry-kit.ts";

/** A process, as another process can look it up. The optional facts are known on Linux. */
export interface LockOwner {
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

/** What is known of the owner of a lock. "unknown" is a process that this one cannot see. */
export type OwnerState = "alive" | "dead" | "unknown";

const instance = randomUUID();
let own: Promise<LockOwner> | undefined;

/** This process. Read once, because nothing of it changes. */
export function ownIdentity(): Promise<LockOwner> {
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
  // A /proc of another PID namespace numbers processes otherwise.
  const isOwnProc = stat !== undefined && Number.parseInt(stat, 10) === process.pid;
  const start = isOwnProc ? startIn(stat) : undefined;
  return { pid: process.pid, host: hostname(), instance, boot, machine, namespace, start };
}

/** Whether the owner of a lock still runs. Answers "dead" only when that is certain. */
export async function stateOf(owner: LockOwner, self: LockOwner): Promise<OwnerState> {
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
  const text = await readFile(path, "latin1").catch(unreadable);
  return text?.trim();
}

function unreadable(): undefined {
  return undefined;
}
