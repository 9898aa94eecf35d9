// Writes times, durations and numbers for people, in the same way on all machines.

/** Returns the time in the form of ISO 8601, or the number if it is not a time. */
export function toIsoTime(at: number): string {
  const time = new Date(at);
  return Number.isNaN(time.getTime()) ? String(at) : time.toISOString();
}

/** Returns a time such as "2026-11-26 22:18:51 UTC". */
export function describeTime(at: number): string {
  return toIsoTime(at)
    .replace("T", " ")
    .replace(/\.\d+Z$/, " UTC");
}

/** Returns a duration such as "820 ms", "3.2 s" or "4 min 10 s". */
export function describeDuration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor(seconds / 60) % 60;
  return hours > 0 ? `${hours} h ${minutes} min` : `${minutes} min ${seconds % 60} s`;
}

export function describeCount(count: number): string {
  return count.toLocaleString("en");
}

export function describeCost(usd: number): string {
  return `$${usd.toFixed(4)}`;
}
