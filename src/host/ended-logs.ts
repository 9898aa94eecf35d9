import { type Clock, isRecord } from "../core/entry-kit.ts";
import type { RunLog } from "./run-log.ts";

interface KeepLimits {
  readonly keepMs: number;
  readonly maxBytes: number;
  readonly clock: Clock;
}

interface EndedLog {
  readonly log: RunLog;
  readonly endedAt: number;
  readonly drop: () => void;
}

export class EndedLogs {
  readonly #limits: KeepLimits;
  readonly #logs = new Map<RunLog, EndedLog>();
  #bytes = 0;
  #timer: unknown;

  constructor(limits: KeepLimits) {
    this.#limits = limits;
  }

  /** Keeps the log of an ended run for `keepMs`. Drops the oldest logs while all logs together exceed `maxBytes`. */
  add(log: RunLog, drop: () => void): void {
    this.take(log);
    this.#logs.set(log, { log, endedAt: this.#limits.clock.now(), drop });
    this.#bytes += log.bytes;
    for (const oldest of this.#logs.values()) {
      if (this.#bytes <= this.#limits.maxBytes) break;
      this.#drop(oldest);
    }
    this.#arm();
  }

  /** Takes the log of a resumed run off the list of ended logs. `drop` is not called, because the log is in use again. */
  take(log: RunLog): void {
    if (!this.#logs.delete(log)) return;
    this.#bytes -= log.bytes;
    if (this.#logs.size === 0) this.#disarm();
  }

  clear(): void {
    for (const ended of this.#logs.values()) this.#drop(ended);
    this.#disarm();
  }

  #drop(ended: EndedLog): void {
    this.take(ended.log);
    ended.drop();
  }

  /** Starts the timer for the oldest log. Logs expire in the order in which they were added, so one timer is enough. */
  #arm(): void {
    const { keepMs, clock } = this.#limits;
    const [oldest] = this.#logs.values();
    if (oldest === undefined || this.#timer !== undefined || keepMs === Number.POSITIVE_INFINITY) return;
    this.#timer = clock.setTimeout(() => this.#expire(), Math.max(0, oldest.endedAt + keepMs - clock.now()));
    letGo(this.#timer);
  }

  #disarm(): void {
    if (this.#timer !== undefined) this.#limits.clock.clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #expire(): void {
    this.#timer = undefined;
    const { keepMs, clock } = this.#limits;
    const now = clock.now();
    for (const ended of this.#logs.values()) {
      if (ended.endedAt + keepMs > now) break;
      this.#drop(ended);
    }
    this.#arm();
  }
}

/** Calls `unref` on a Node timer, so that the timer does not keep the process alive. */
function letGo(timer: unknown): void {
  const { unref }: { readonly unref?: unknown } = isRecord(timer) ? timer : {};
  if (typeof unref === "function") Reflect.apply(unref, timer, []);
}
