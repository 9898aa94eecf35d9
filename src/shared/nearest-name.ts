// Finds the name that a model or a programmer probably meant.

import { distance } from "fastest-levenshtein";

/** The maximum number of characters to compare. An untrusted name may be a megabyte long. */
const comparedLength = 64;

const maxCandidates = 10_000;

/**
 * Returns the candidate that is nearest to `name`, or undefined if none is close enough. At most a third of the letters may be wrong,
 * missing or extra. Two swapped letters count as one mistake if the letters before them are right. Ignores case, separators, and a
 * namespace as in "functions.search". Among equally near candidates, returns the first. Considers only the first 10,000 candidates.
 *
 * @example nearestName("getWeathr", ["get_time", "get_weather"]) // "get_weather"
 */
export function nearestName(name: string, candidates: Iterable<string>): string | undefined {
  const start = name.slice(0, 2 * comparedLength);
  const wanted = new Set([fold(start), fold(start.replace(/^.*(?:[.:/]|__)/s, ""))]);
  let nearest: string | undefined;
  let fewest = Number.POSITIVE_INFINITY;
  let place = 0;
  for (const candidate of candidates) {
    place += 1;
    if (place > maxCandidates) break;
    const to = fold(candidate.slice(0, 2 * comparedLength));
    for (const from of wanted) {
      const mistakes = countMistakes(from, to);
      if (to === "" || mistakes >= fewest || mistakes > Math.max(from.length, to.length) / 3) continue;
      nearest = candidate;
      fewest = mistakes;
    }
  }
  return nearest;
}

function fold(name: string): string {
  return name
    .toLowerCase()
    .replace(/[\s_\-./:]+/g, "")
    .slice(0, comparedLength);
}

function countMistakes(from: string, to: string): number {
  let at = 0;
  while (at < from.length && from[at] === to[at]) at++;
  const all = distance(from, to);
  const isSwapped = from[at] === to[at + 1] && from[at + 1] === to[at];
  return isSwapped ? Math.min(all, 1 + distance(from.slice(at + 2), to.slice(at + 2))) : all;
}
