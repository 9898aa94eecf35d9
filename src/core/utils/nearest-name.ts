// Finds the name that a model or a programmer probably meant.

/** Only this many characters are compared, because an untrusted name may be a megabyte long. */
const comparedLength = 64;

const mostCandidates = 10_000;

/** The maximum number of candidates that are compared letter by letter: those that share the most letters with the name. */
const mostCompared = 64;

/**
 * Returns the candidate nearest to `name`, or undefined if none is near. At most a third of the letters may be wrong, missing,
 * extra or swapped with their neighbour. Case, separators, and a namespace as in "functions.search" do not count. Of equally
 * near candidates, returns the first.
 *
 * Limits the work: considers only the first 10,000 candidates, and compares only the 64 likeliest letter by letter.
 *
 * @example nearestName("getWeathr", ["get_time", "get_weather"]) // "get_weather"
 */
export function nearestName(name: string, candidates: Iterable<string>): string | undefined {
  const start = name.slice(0, 2 * comparedLength);
  const wanted = [...new Set([fold(start), fold(start.replace(/^.*(?:[.:/]|__)/s, ""))])].map(toLetters);
  let nearest: Pair | undefined;
  let shortest = Number.POSITIVE_INFINITY;
  for (const pair of likeliestPairs(wanted, candidates)) {
    if (pair.least > shortest) break;
    const distance = distanceWithin(allowedFor(pair.from, pair.to), pair.from.text, pair.to.text);
    if (
      distance === Number.POSITIVE_INFINITY ||
      distance > shortest ||
      (distance === shortest && pair.place >= (nearest?.place ?? 0))
    )
      continue;
    nearest = pair;
    shortest = distance;
  }
  return nearest?.candidate;
}

interface Letters {
  readonly text: string;
  readonly counts: Uint8Array;
}

/** A candidate `to`, and the form `from` of the name. `least` is a lower bound for the distance between them. */
interface Pair {
  readonly candidate: string;
  readonly place: number;
  readonly from: Letters;
  readonly to: Letters;
  readonly least: number;
}

function likeliestPairs(wanted: readonly Letters[], candidates: Iterable<string>): readonly Pair[] {
  const pairs: Pair[] = [];
  let place = 0;
  for (const candidate of candidates) {
    place += 1;
    if (place > mostCandidates) break;
    const to = toLetters(fold(candidate.slice(0, 2 * comparedLength)));
    for (const from of wanted) {
      const least = leastDistance(from, to);
      if (to.text !== "" && least <= allowedFor(from, to)) pairs.push({ candidate, place, from, to, least });
    }
  }
  return pairs.sort((a, b) => a.least - b.least).slice(0, mostCompared);
}

function allowedFor(from: Letters, to: Letters): number {
  return Math.floor(Math.max(from.text.length, to.text.length) / 3);
}

const buckets = 32;

function toLetters(text: string): Letters {
  const counts = new Uint8Array(buckets);
  for (let index = 0; index < text.length; index++) {
    const bucket = text.charCodeAt(index) % buckets;
    counts[bucket] = (counts[bucket] ?? 0) + 1;
  }
  return { text, counts };
}

/** Letters that only one text has must be replaced, added or removed, so their number is a lower bound for the distance. */
function leastDistance(from: Letters, to: Letters): number {
  let missing = 0;
  let surplus = 0;
  for (let bucket = 0; bucket < buckets; bucket++) {
    const difference = (from.counts[bucket] ?? 0) - (to.counts[bucket] ?? 0);
    if (difference > 0) missing += difference;
    else surplus -= difference;
  }
  return Math.max(missing, surplus);
}

function fold(name: string): string {
  return name
    .toLowerCase()
    .replace(/[\s_\-./:]+/g, "")
    .slice(0, comparedLength);
}

function distanceWithin(allowed: number, from: string, to: string): number {
  let beforeLast: Row = rows[0];
  let last: Row = rows[1];
  let current: Row = rows[2];
  for (let column = 0; column <= to.length; column++) last[column] = column;
  for (let row = 1; row <= from.length; row++) {
    current[0] = row;
    let shortest = row;
    for (let column = 1; column <= to.length; column++) {
      const isSame = from[row - 1] === to[column - 1];
      let distance = Math.min(at(last, column) + 1, at(current, column - 1) + 1, at(last, column - 1) + (isSame ? 0 : 1));
      const isSwapped = row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      if (isSwapped) distance = Math.min(distance, at(beforeLast, column - 2) + 1);
      current[column] = distance;
      if (distance < shortest) shortest = distance;
    }
    // Swapped letters need the margin of 1. The next row computes their distance from the row before this row, whose minimum may
    // be lower.
    if (shortest > allowed + 1) return Number.POSITIVE_INFINITY;
    [beforeLast, last, current] = [last, current, beforeLast];
  }
  const distance = at(last, to.length);
  return distance > allowed ? Number.POSITIVE_INFINITY : distance;
}

type Row = Uint8Array;

const rows: readonly [Row, Row, Row] = [makeRow(), makeRow(), makeRow()];

function makeRow(): Row {
  return new Uint8Array(comparedLength + 1);
}

function at(row: Row, column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY;
}
