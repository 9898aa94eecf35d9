// Middleware with which a tool may be called only so often a day, counted over all processes that share a folder. No process can leave
// a lock behind: each counted call is one symbolic link, <folder>/<day>/<tool>/<number>, which points to the key of the call. The
// file system creates a link with its text at once, and refuses a name that exists.

import { mkdirSync, readlinkSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import type { Middleware } from "turnwright";
import { denyCall } from "turnwright/kit";

export interface DailyQuota {
  readonly folder: string;
  /** Calls per day for each tool. Other tools are not limited. */
  readonly limits: Readonly<Record<string, number>>;
  /** The name of the current day. Default: the date in UTC. */
  readonly today?: () => string;
}

/** Takes the first free place. A key that has a place keeps it. */
function takePlace(folder: string, key: string, limit: number): boolean {
  mkdirSync(folder, { recursive: true });
  for (let place = 1; place <= limit; place += 1) {
    const link = join(folder, String(place));
    try {
      symlinkSync(key, link);
      return true;
    } catch (error) {
      const isTaken = error instanceof Error && "code" in error && error.code === "EEXIST";
      if (!isTaken) throw error;
    }
    if (readlinkSync(link) === key) return true;
  }
  return false;
}

export function dailyQuota({ folder, limits, today = () => new Date().toISOString().slice(0, 10) }: DailyQuota): Middleware {
  return {
    name: "daily-quota",
    after: ["remember-permissions"], // a call that a person denies does not count
    async execute(call, next, at) {
      const limit = Object.hasOwn(limits, call.name) ? limits[call.name] : undefined;
      if (limit === undefined) return next(call);
      await at.afterMessage(); // a call of a discarded message does not count
      // Two steps: between a crash and the next execution, midnight may have passed.
      const day = await at.step("day", today);
      const place = join(folder, day, encodeURIComponent(call.name));
      if (await at.step("count", () => takePlace(place, at.idempotencyKey, limit))) return next(call);
      return denyCall(
        call,
        `"${call.name}" may run ${limit} times a day, and all ${limit} are used. Do not call it again today.`,
      );
    },
  };
}
