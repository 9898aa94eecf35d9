// A lock beside a file, for one writer at a time on one machine. Each writer appends a claim to the lock file; the first claim whose
// process lives has it. Appending puts claims into one order, so that all agree on who that is, also where several find a dead one.

import { randomUUID } from "node:crypto";
import { type FileHandle, open, readFile, rm, stat } from "node:fs/promises";
import { hostname } from "node:os";
import { LoopError } from "../../errors/loop-error.ts";
import { isRecord } from "../../kit/is-record.ts";
import { parseJson } from "../../kit/parse-json.ts";

/** One line of a lock file. */
interface Claim {
  readonly token: string;
  readonly pid: number;
  readonly host: string;
  /** When the process began, where that can be known: ids of processes are used again. */
  readonly start?: string | undefined;
}

/** Read once: it does not change. */
let ownStart: Promise<string | undefined> | undefined;

/**
 * Locks a file until the answered function is called. Throws LoopError "journal-locked" where somebody has it. A claim of a process
 * that is gone does not count; one of another machine does, for nobody can know.
 */
export async function lockFile(path: string): Promise<() => Promise<void>> {
  const lockPath = `${path}.lock`;
  const { pid } = process;
  const claim: Claim = { token: randomUUID(), pid, host: hostname(), start: await (ownStart ??= startOf(pid)) };
  for (;;) {
    const file = await open(lockPath, "a+", 0o600);
    try {
      await file.appendFile(`\n${JSON.stringify(claim)}\n`);
      const holder = await findHolder(await readAll(file), claim);
      if (holder !== undefined) {
        await file.appendFile(`${JSON.stringify({ withdrawn: claim.token })}\n`);
        throw new LoopError("journal-locked", { path, pid: holder.pid, host: holder.host });
      }
      // Who had it may have removed the file after it was opened here.
      if (await isAt(lockPath, file)) return () => unlock(lockPath, claim);
    } finally {
      await file.close();
    }
  }
}

/** Somebody may have removed the lock by hand, and another process have it now. */
async function unlock(lockPath: string, { token }: Claim): Promise<void> {
  const text = await readFile(lockPath, "utf8").catch(orNothing);
  if (text?.includes(token) === true) await rm(lockPath, { force: true });
}

/** Whose claim comes before this one's, of those that count. */
async function findHolder(text: string, own: Claim): Promise<Claim | undefined> {
  // A line that is none was torn when its process died.
  const lines = text.split("\n").map(parseJson);
  const withdrawn = new Set(lines.map((line) => (isRecord(line) ? line["withdrawn"] : undefined)));
  for (const claim of lines.filter(isClaim)) {
    if (claim.token === own.token) return undefined;
    if (!withdrawn.has(claim.token) && (await mayLive(claim, own.host))) return claim;
  }
  return undefined;
}

async function mayLive({ pid, host, start }: Claim, ownHost: string): Promise<boolean> {
  if (host !== ownHost) return true;
  if (!isRunning(pid)) return false;
  const now = await startOf(pid);
  return start === undefined || now === undefined || start === now;
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // One that may not be asked is there.
    return isRecord(error) && error["code"] === "EPERM";
  }
}

/** Linux says when a process began, counted from when the machine did. A process that has ended and was not waited for never began. */
async function startOf(pid: number): Promise<string | undefined> {
  const status = await readFile(`/proc/${pid}/stat`, "latin1").catch(orNothing);
  const boot = await readFile("/proc/sys/kernel/random/boot_id", "latin1").catch(orNothing);
  if (status === undefined || boot === undefined) return undefined;
  // The name before the last bracket may hold anything.
  const fields = status.slice(status.lastIndexOf(")") + 2).split(" ");
  const [state = ""] = fields;
  return state === "Z" || state === "X" ? "ended" : `${boot.trim()} ${fields[19]}`;
}

/** From its beginning, wherever it was written to last. */
async function readAll(file: FileHandle): Promise<string> {
  const { size } = await file.stat();
  const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(size), position: 0 });
  return buffer.toString("utf8", 0, bytesRead);
}

async function isAt(path: string, file: FileHandle): Promise<boolean> {
  const [there, here] = await Promise.all([stat(path, { bigint: true }).catch(orNothing), file.stat({ bigint: true })]);
  return there?.ino === here.ino && there.dev === here.dev;
}

/** What cannot be read is as good as not there. */
function orNothing(): undefined {
  return undefined;
}

function isClaim(line: unknown): line is Claim {
  return (
    isRecord(line) && typeof line["token"] === "string" && typeof line["pid"] === "number" && typeof line["host"] === "string"
  );
}
