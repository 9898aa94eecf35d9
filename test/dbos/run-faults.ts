// Runs trips while workers are killed and frozen and Postgres crashes, and reports how the runs ended.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { ChildProcess } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import { launchWorker } from "turnwright/dbos";
import { type Postgres, startPostgres } from "../../examples/workers/start-postgres.ts";
import { Fleet } from "./fleet.ts";
import { createRandom } from "./seeded.ts";
import { addSaid, type defineTrips, readNotes, readText, type Said } from "./trips.ts";

export interface FaultPlan {
  readonly runs: number;
  readonly workers: number;
  /** The time during which faults happen, in milliseconds. */
  readonly forMs: number;
  /** The time between two faults, in milliseconds. */
  readonly everyMs: number;
  readonly leaseMs: number;
  /** Determines the kinds of faults, their victims and their times. */
  readonly seed: number;
  /** True if faults begin while earlier faults still last. Default false. */
  readonly overlaps?: boolean | undefined;
  /** True if crashes of the server are the only faults. Default false. */
  readonly isServerOnly?: boolean | undefined;
}

export interface FaultReport {
  /** How many runs ended with the text of a run without faults. */
  readonly completed: number;
  /** How many calls began twice, of a tool that must not run twice. */
  readonly repeated: number;
  /** How many readers missed an event, or got an event twice. */
  readonly gaps: number;
  /** How many readers ended with the text of a run without faults. */
  readonly read: number;
  /** How many steering messages were lost, or delivered more than once. */
  readonly missteered: number;
  /** How many waiting runs, stopped or killed after the faults, did not end as stopped in their results and their records. */
  readonly unended: number;
  readonly faults: { readonly kills: number; readonly freezes: number; readonly crashes: number; readonly locks?: number };
  readonly tookMs: number;
}

export type Trips = ReturnType<typeof defineTrips>;

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Repeats work until it succeeds, because it fails while Postgres is down. */
async function insist<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (attempt === 100) throw error;
      await sleep(200);
    }
  }
}

const steering = "By train, please.";

/** Reads the events of a run as a page does, and decides about the calls that wait. */
class Follower {
  readonly #trips: Trips;
  readonly #id: string;
  readonly #steers: boolean;
  #next = 0;
  #said: readonly Said[] = [];
  #isOver = false;
  #hasSteered = false;
  hasGap = false;
  /** True if a steering message was certainly accepted once. */
  isSteered = false;

  constructor(trips: Trips, id: string, steers: boolean) {
    this.#trips = trips;
    this.#id = id;
    this.#steers = steers;
  }

  get said(): string {
    return this.#said.map(({ text }) => text).join("");
  }

  async follow(): Promise<void> {
    await Promise.all([insist(() => this.#read()), insist(() => this.#decide())]);
  }

  async #read(): Promise<void> {
    for await (const { seq, event } of this.#trips.events(this.#id, { from: this.#next })) {
      this.hasGap ||= seq !== this.#next;
      this.#next = seq + 1;
      this.#said = addSaid(this.#said, event);
      // A nested run is working.
      if (event.path !== undefined && event.type === "tool-start") await this.#steer();
    }
    this.#isOver = true;
  }

  /** Sends one steering message. If the call fails, nobody knows whether the message was accepted. */
  async #steer(): Promise<void> {
    if (!this.#steers || this.#hasSteered) return;
    this.#hasSteered = true;
    const answer = await this.#trips.steer(this.#id, steering).catch(() => "unknown" as const);
    this.isSteered = answer === "accepted";
  }

  async #decide(): Promise<void> {
    while (!this.#isOver) {
      await sleep(100);
      for (const { id, state } of (await this.#trips.status(this.#id))?.pendingCalls ?? []) {
        if (state === "awaiting-approval") await this.#trips.decide(this.#id, id, { kind: "approve" });
        if (state === "awaiting-result") await this.#trips.decide(this.#id, id, { kind: "result", result: "signed" });
      }
    }
  }
}

/** A fault. It adds itself to the counts of the faults. `random` belongs to this fault alone, so that its seed repeats the fault. */
export type Fault = (random: () => number) => Promise<void>;

/** Something that has worker processes. */
interface Crew {
  readonly workers: readonly ChildProcess[];
  start(): Promise<ChildProcess>;
}

export interface WorkerFaults {
  readonly counts: { kills: number; freezes: number; crashes: number; locks: number };
  readonly kill: Fault;
  readonly freeze: Fault;
  readonly freezeStorm: Fault;
}

/** Makes the faults of workers. */
export function createWorkerFaults({ leaseMs, workers }: FaultPlan, crew: Crew): WorkerFaults {
  const counts = { kills: 0, freezes: 0, crashes: 0, locks: 0 };
  const pick = (random: () => number) => crew.workers[Math.floor(random() * crew.workers.length)];
  const freezeFor = async (victim: ChildProcess | undefined, ms: number): Promise<void> => {
    counts.freezes += 1;
    victim?.kill("SIGSTOP");
    await sleep(ms);
    victim?.kill("SIGCONT");
  };
  return {
    counts,
    async kill(random) {
      counts.kills += 1;
      pick(random)?.kill("SIGKILL");
      await crew.start();
    },
    freeze: (random) => freezeFor(pick(random), 2 * leaseMs),
    /** Freezes one worker after the other, for a part of the lease or longer, while the earlier ones come back. */
    async freezeStorm(random) {
      const freezes = Array.from({ length: 2 * workers }, () => ({ after: random(), share: 0.3 + 1.7 * random() }));
      const one = async ({ after, share }: { readonly after: number; readonly share: number }): Promise<void> => {
        await sleep(after * leaseMs);
        await freezeFor(pick(random), share * leaseMs);
      };
      await Promise.all(freezes.map(one));
    },
  };
}

/** Makes the faults of a plan happen. Each of the `kinds` happens at least once. A kind that is listed twice happens more often. */
export async function disturb({ seed, forMs, everyMs, overlaps = false }: FaultPlan, kinds: readonly Fault[]): Promise<void> {
  const random = createRandom(seed);
  const first = [...new Set(kinds)];
  const begun: Promise<void>[] = [];
  const until = performance.now() + forMs;
  while (first.length > 0 || performance.now() < until) {
    await sleep(everyMs * (0.5 + random()));
    const from = first.length > 0 ? first : kinds;
    const index = Math.floor(random() * from.length);
    const fault = from[index]?.(createRandom(random() * 2 ** 32));
    if (from === first) first.splice(index, 1);
    if (overlaps && fault !== undefined) begun.push(fault);
    else await fault;
  }
  await Promise.all(begun);
}

/** Makes the faults of the database. */
function createDatabaseFaults({ leaseMs }: FaultPlan, postgres: Postgres, { counts, kill }: WorkerFaults) {
  let crashing: Promise<void> | undefined;
  const crash: Fault = async (random) => {
    if (postgres.crash === undefined) return;
    counts.crashes += 1;
    const killed = random() < 0.5 ? kill(random) : undefined;
    await (crashing ??= postgres.crash().finally(() => (crashing = undefined)));
    await killed;
  };
  /** Locks a table for longer than the lease, as `CREATE INDEX` does. */
  const lock: Fault = async (random) => {
    const tables = ["runs", "events", "records", "messages"];
    const table = tables[Math.floor(random() * tables.length)];
    const client = new Client({ connectionString: postgres.url });
    client.on("error", () => {});
    counts.locks += 1;
    try {
      await client.connect();
      await client.query(`BEGIN; LOCK TABLE turnwright.${table} IN SHARE MODE`);
      await sleep(1.5 * leaseMs);
      await client.query("ROLLBACK");
    } catch {
      // A crash of the server ends the lock early.
    } finally {
      await client.end().catch(() => {});
    }
  };
  return { crash, lock };
}

/** Starts trips, and trips that wait. Follows the trips while `disturbance` happens, and then stops the trips that wait. */
export async function followAll(
  plan: FaultPlan,
  trips: Trips,
  disturbance: () => Promise<void>,
): Promise<Omit<FaultReport, "repeated" | "faults">> {
  const begunAt = performance.now();
  const ids = Array.from({ length: plan.runs }, (_, index) => `trip-${index}`);
  const halted = Array.from({ length: Math.ceil(plan.runs / 6) }, (_, index) => `halted-${index}`);
  const start = (id: string, asks: boolean) => insist(() => trips.start(id, { city: id, asks }));
  await Promise.all([...ids.map((id, index) => start(id, index % 3 === 0)), ...halted.map((id) => start(id, true))]);
  const followers = ids.map((id, index) => new Follower(trips, id, index % 4 === 1));
  await Promise.all([disturbance(), ...followers.map((one) => one.follow())]);
  const unended = await endWaiting(trips, halted);
  const results = await Promise.all(ids.map((id) => insist(() => trips.result(id))));
  const readAgain = await Promise.all(ids.map((id) => insist(() => readText(trips, id))));
  return {
    completed: results.filter(({ status, text }, index) => status === "completed" && text === `To ${ids[index]}.`).length,
    gaps: followers.filter(({ hasGap }) => hasGap).length,
    // A message that arrives late leads to another answer.
    read: followers.filter(
      ({ said }, index) => said === readAgain[index] && said.replaceAll(`To ${ids[index]}.`, "") === "I look around.",
    ).length,
    missteered: followers.filter(({ isSteered }, index) => isSteered && countSteered(results[index]) !== 1).length,
    unended,
    tookMs: Math.round(performance.now() - begunAt),
  };
}

function countSteered(result: Awaited<ReturnType<Trips["result"]>> | undefined): number {
  const { messages = [], undelivered = [] } = result ?? {};
  return [...messages, ...undelivered].filter((message) => message.role === "user" && message.content === steering).length;
}

/** Stops or kills runs that still wait after all faults and takeovers. Returns how many did not end as stopped. */
async function endWaiting(trips: Trips, ids: readonly string[]): Promise<number> {
  const ends = ids.map(async (id, index) => {
    const waits = async (): Promise<boolean> => ((await trips.status(id))?.status ?? "") === "suspended";
    while (!(await insist(waits))) await sleep(100);
    await insist(() => (index % 2 === 0 ? trips.stop(id) : trips.kill(id)));
    const { status } = await insist(() => trips.result(id));
    const found = await insist(() => trips.status(id));
    return status === "stopped-by-user" && found?.status === status && found.pendingCalls.length === 0;
  });
  return (await Promise.all(ends)).filter((isEnded) => !isEnded).length;
}

/** `trips` is passed in, because a process can define the loop only once. */
export async function runFaults(plan: FaultPlan, trips: Trips): Promise<FaultReport> {
  const folder = mkdtempSync(join(tmpdir(), "turnwright-faults-"));
  const notesPath = join(folder, "notes.jsonl");
  writeFileSync(notesPath, "");
  const postgres = await startPostgres();
  const { leaseMs } = plan;
  const fleet = new Fleet({ databaseUrl: postgres.url, notesPath, leaseMs });
  // All processes launch at once on the new database.
  const launching = launchWorker({ databaseUrl: postgres.url, leaseMs, runsLoops: false });
  const [client] = await Promise.all([launching, ...Array.from({ length: plan.workers }, () => fleet.start())]);
  try {
    if (fleet.workers.length < plan.workers) throw new Error("Some workers did not launch on the new database.");
    const ofWorkers = createWorkerFaults(plan, fleet);
    const { kill, freeze, freezeStorm, counts } = ofWorkers;
    const { crash, lock } = createDatabaseFaults(plan, postgres, ofWorkers);
    const report = await followAll(plan, trips, () => disturb(plan, [kill, kill, freeze, crash, lock, freezeStorm]));
    const begun = readNotes(notesPath).filter(({ what, tool }) => what === "begin" && tool === "pay");
    return { ...report, faults: counts, repeated: begun.length - new Set(begun.map(({ key }) => key)).size };
  } finally {
    await fleet.stop();
    await client.stop();
    await postgres.stop();
    rmSync(folder, { recursive: true });
  }
}
