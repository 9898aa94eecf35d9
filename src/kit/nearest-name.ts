// "Did you mean": the known name that a mistyped one comes closest to.

/** Names are compared by their first characters only, because a foreign one may be a megabyte long. */
const comparedLength = 64;

/**
 * The candidate nearest to `name`, or undefined where none is near: at most a third of the letters may be wrong, missing,
 * too many or swapped with their neighbour. Case and separators do not count, nor does a namespace that models like to put
 * before a name, as in "functions.search". Of equally near ones the first wins.
 *
 * @example nearestName("getWeathr", ["get_time", "get_weather"]) // "get_weather"
 */
export function nearestName(name: string, candidates: Iterable<string>): string | undefined {
  const start = name.slice(0, 2 * comparedLength);
  const wanted = new Set([fold(start), fold(start.replace(/^.*(?:[.:/]|__)/s, ""))]);
  let nearest: string | undefined;
  let shortest = Number.POSITIVE_INFINITY;
  for (const candidate of candidates) {
    const folded = fold(candidate.slice(0, 2 * comparedLength));
    for (const text of wanted) {
      const distance = distanceWithin(Math.floor(Math.max(text.length, folded.length) / 3), text, folded);
      if (distance >= shortest) continue;
      nearest = candidate;
      shortest = distance;
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

/** The distance of two texts, or Infinity where more than `allowed` letters differ. */
function distanceWithin(allowed: number, from: string, to: string): number {
  if (Math.abs(from.length - to.length) > allowed) return Number.POSITIVE_INFINITY;
  const distance = editDistance(from, to);
  return distance > allowed || to === "" ? Number.POSITIVE_INFINITY : distance;
}

/** Insertions, deletions, replacements and swaps of neighbours that make one text of the other, row by row. */
function editDistance(from: string, to: string): number {
  let beforeLast: readonly number[] = [];
  let last: readonly number[] = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const replaced = at(last, column - 1) + (from[row - 1] === to[column - 1] ? 0 : 1);
      const swapped =
        from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]
          ? at(beforeLast, column - 2) + 1
          : Number.POSITIVE_INFINITY;
      current.push(Math.min(at(last, column) + 1, at(current, column - 1) + 1, replaced, swapped));
    }
    beforeLast = last;
    last = current;
  }
  return at(last, to.length);
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY;
}
