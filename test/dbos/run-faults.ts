// Runs trips while workers are killed and frozen and Postgres crashes, and reports how the runs ended.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import { launchWorker } from "turnwright/dbos";
import { type Postgres, startPostgres } from "../../examples/workers/start-postgres.ts";
import { Fleet } from "./fleet.ts";
import { createRandom } from "./seeded.ts";
import { addSaid, type defineTrips, readNotes, type Said } from "./trips.ts";

export interface FaultPlan {
  readonly runs: number;
  readonly workers: number;
  /** The time during which faults happen, in milliseconds. */
  readonly forMs: number;
  /** The time between two faults, in milliseconds. */
  readonly everyMs: number;
  readonly leaseMs: number;
  /** Determines the kinds of faults, their victims and their times. Only for DBOS. Default 1. */
  readonly seed?: number | undefined;
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
  readonly faults: { readonly kills: number; readonly freezes: number; readonly crashes: number; readonly locks?: number };
  readonly tookMs: number;
}

export interface DbosFaultReport extends FaultReport {
  /** How many waiting runs, stopped or killed after the faults, did not end as stopped in their results and their records. */
  readonly unended: number;
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

export type Faults = FaultReport["faults"];

type Fault = (fleet: Fleet) => Promise<void>;

/** Makes the faults of a plan. Each adds itself to `counts`. */
function createFaults(plan: FaultPlan, postgres: Postgres, random: () => number) {
  const counts = { kills: 0, freezes: 0, crashes: 0, locks: 0 };
  const pick = (fleet: Fleet) => fleet.workers[Math.floor(random() * fleet.workers.length)];
  const kill: Fault = async (fleet) => {
    counts.kills += 1;
    pick(fleet)?.kill("SIGKILL");
    await fleet.start();
  };
  const freeze: Fault = async (fleet) => {
    counts.freezes += 1;
    const victim = pick(fleet);
    victim?.kill("SIGSTOP");
    await sleep(2 * plan.leaseMs);
    victim?.kill("SIGCONT");
  };
  /** Freezes one worker after the other, for a part of the lease or longer, while the earlier ones come back. */
  const freezeStorm: Fault = async (fleet) => {
    const one = async (): Promise<void> => {
      await sleep(random() * plan.leaseMs);
      counts.freezes += 1;
      const victim = pick(fleet);
      victim?.kill("SIGSTOP");
      await sleep((0.3 + 1.7 * random()) * plan.leaseMs);
      victim?.kill("SIGCONT");
    };
    await Promise.all(Array.from({ length: 2 * plan.workers }, one));
  };
  const crash: Fault = async (fleet) => {
    if (postgres.crash === undefined) return;
    counts.crashes += 1;
    if (random() < 0.5) await kill(fleet);
    await postgres.crash();
  };
  /** Locks a table for longer than the lease, as `CREATE INDEX` does. */
  const lock: Fault = async () => {
    const tables = ["runs", "events", "records", "messages"];
    const client = new Client({ connectionString: postgres.url });
    await client.connect();
    counts.locks += 1;
    await client.query(`BEGIN; LOCK TABLE turnwright.${tables[Math.floor(random() * tables.length)]} IN SHARE MODE`);
    await sleep(1.5 * plan.leaseMs);
    await client.query("ROLLBACK");
    await client.end();
  };
  return { counts, kill, freeze, freezeStorm, crash, lock };
}

/** Each kind of fault happens at least once. */
async function disturb(plan: FaultPlan, fleet: Fleet, postgres: Postgres): Promise<Faults> {
  const random = createRandom(plan.seed ?? 1);
  const { counts, kill, freeze, freezeStorm, crash, lock } = createFaults(plan, postgres, random);
  const first: Fault[] = [kill, freeze, crash, lock, freezeStorm];
  const often: readonly Fault[] = [kill, kill, freeze, crash, lock, freezeStorm];
  const until = performance.now() + plan.forMs;
  while (first.length > 0 || performance.now() < until) {
    await sleep(plan.everyMs * (0.5 + random()));
    const [next] = first.length > 0 ? first.splice(Math.floor(random() * first.length), 1) : [];
    await (next ?? often[Math.floor(random() * often.length)] ?? kill)(fleet);
  }
  return counts;
}

export async function followAll(
  plan: FaultPlan,
  trips: Trips,
  disturbance: () => Promise<Faults>,
): Promise<Omit<FaultReport, "repeated">> {
  const begunAt = performance.now();
  const ids = Array.from({ length: plan.runs }, (_, index) => `trip-${index}`);
  await Promise.all(ids.map((id, index) => insist(() => trips.start(id, { city: id, asks: index % 3 === 0 }))));
  const followers = ids.map((id, index) => new Follower(trips, id, index % 4 === 1));
  const [faults] = await Promise.all([disturbance(), ...followers.map((one) => one.follow())]);
  const results = await Promise.all(ids.map((id) => insist(() => trips.result(id))));
  return {
    completed: results.filter(({ status, text }, index) => status === "completed" && text === `To ${ids[index]}.`).length,
    gaps: followers.filter(({ hasGap }) => hasGap).length,
    // A message that arrives late leads to another answer.
    read: followers.filter(({ said }, index) => said.replaceAll(`To ${ids[index]}.`, "") === "I look around.").length,
    missteered: followers.filter(({ isSteered }, index) => isSteered && countSteered(results[index]) !== 1).length,
    faults,
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
export async function runFaults(plan: FaultPlan, trips: Trips): Promise<DbosFaultReport> {
  const folder = mkdtempSync(join(tmpdir(), "turnwright-faults-"));
  const notesPath = join(folder, "notes.jsonl");
  writeFileSync(notesPath, "");
  const postgres = await startPostgres();
  const { leaseMs } = plan;
  const fleet = new Fleet({ databaseUrl: postgres.url, notesPath, leaseMs });
  // All processes launch at once on the new database.
  const launching = launchWorker({ databaseUrl: postgres.url, leaseMs, executes: false });
  const [client] = await Promise.all([launching, ...Array.from({ length: plan.workers }, () => fleet.start())]);
  try {
    if (fleet.workers.length < plan.workers) throw new Error("Some workers did not launch on the new database.");
    const halted = Array.from({ length: Math.ceil(plan.runs / 6) }, (_, index) => `halted-${index}`);
    await Promise.all(halted.map((id) => trips.start(id, { city: id, asks: true })));
    const report = await followAll(plan, trips, () => disturb(plan, fleet, postgres));
    const unended = await endWaiting(trips, halted);
    const begun = readNotes(notesPath).filter(({ what, tool }) => what === "begin" && tool === "pay");
    return { ...report, unended, repeated: begun.length - new Set(begun.map(({ key }) => key)).size };
  } finally {
    await fleet.stop();
    await client.stop();
    await postgres.stop();
    rmSync(folder, { recursive: true });
  }
}
