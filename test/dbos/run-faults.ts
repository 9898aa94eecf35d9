// Runs trips while workers are killed and frozen and Postgres crashes, and reports how the runs ended.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { launchWorker } from "turnwright/dbos";
import { type Postgres, startPostgres } from "../../examples/workers/start-postgres.ts";
import { Fleet } from "./fleet.ts";
import { addSaid, type defineTrips, readNotes, type Said } from "./trips.ts";

export interface FaultPlan {
  readonly runs: number;
  readonly workers: number;
  /** The time during which faults happen, in milliseconds. */
  readonly forMs: number;
  /** The time between two faults, in milliseconds. */
  readonly everyMs: number;
  readonly leaseMs: number;
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
  readonly faults: { readonly kills: number; readonly freezes: number; readonly crashes: number };
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

/** Reads the events of a run as a page does, and decides about the calls that wait. */
class Follower {
  readonly #trips: Trips;
  readonly #id: string;
  #next = 0;
  #said: readonly Said[] = [];
  #isOver = false;
  hasGap = false;

  constructor(trips: Trips, id: string) {
    this.#trips = trips;
    this.#id = id;
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
    }
    this.#isOver = true;
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

/** Kills and freezes workers in turn. Also crashes Postgres, sometimes directly after a worker was killed. */
async function disturb(plan: FaultPlan, fleet: Fleet, crash: Postgres["crash"]): Promise<Faults> {
  const faults = { kills: 0, freezes: 0, crashes: 0 };
  const until = performance.now() + plan.forMs;
  for (let round = 0; round < 3 || performance.now() < until; round += 1) {
    await sleep(plan.everyMs);
    const victim = fleet.workers[round % plan.workers];
    if (round % 4 === 1) {
      faults.freezes += 1;
      victim?.kill("SIGSTOP");
      await sleep(2 * plan.leaseMs);
      victim?.kill("SIGCONT");
      continue;
    }
    faults.kills += 1;
    victim?.kill("SIGKILL");
    if (round % 4 === 2 && crash !== undefined) {
      faults.crashes += 1;
      await crash();
    }
    await fleet.start();
  }
  return faults;
}

export async function followAll(
  plan: FaultPlan,
  trips: Trips,
  disturbance: () => Promise<Faults>,
): Promise<Omit<FaultReport, "repeated">> {
  const begunAt = performance.now();
  const ids = Array.from({ length: plan.runs }, (_, index) => `trip-${index}`);
  await Promise.all(ids.map((id, index) => insist(() => trips.start(id, { city: id, asks: index % 3 === 0 }))));
  const followers = ids.map((id) => new Follower(trips, id));
  const [faults] = await Promise.all([disturbance(), ...followers.map((one) => one.follow())]);
  const results = await Promise.all(ids.map((id) => insist(() => trips.result(id))));
  return {
    completed: results.filter(({ status, text }, index) => status === "completed" && text === `To ${ids[index]}.`).length,
    gaps: followers.filter(({ hasGap }) => hasGap).length,
    read: followers.filter(({ said }, index) => said === `I look around.To ${ids[index]}.`).length,
    faults,
    tookMs: Math.round(performance.now() - begunAt),
  };
}

/** `trips` is passed in, because a process can define the loop only once. */
export async function runFaults(plan: FaultPlan, trips: Trips): Promise<FaultReport> {
  const folder = mkdtempSync(join(tmpdir(), "turnwright-faults-"));
  const notesPath = join(folder, "notes.jsonl");
  writeFileSync(notesPath, "");
  const postgres = await startPostgres();
  const { leaseMs } = plan;
  const client = await launchWorker({ databaseUrl: postgres.url, leaseMs, executes: false });
  const fleet = new Fleet({ databaseUrl: postgres.url, notesPath, leaseMs });
  try {
    await Promise.all(Array.from({ length: plan.workers }, () => fleet.start()));
    const report = await followAll(plan, trips, () => disturb(plan, fleet, postgres.crash));
    const begun = readNotes(notesPath).filter(({ what, tool }) => what === "begin" && tool === "pay");
    return { ...report, repeated: begun.length - new Set(begun.map(({ key }) => key)).size };
  } finally {
    await fleet.stop();
    await client.stop();
    await postgres.stop();
    rmSync(folder, { recursive: true });
  }
}
