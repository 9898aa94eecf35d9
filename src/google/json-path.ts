// Reads the JSON Paths (RFC 9535) by which streamed arguments say where they belong.

/** A key of an object, or a position in an array. */
export type PathSegment = string | number;

/** Deeper than any argument: what is nested further is not read. */
const deepest = 64;

const segmentAt = /\.([^.[\]*]+)|\[(\d{1,9})\]|\[("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')\]/y;

/**
 * The segments of a path that names one value, such as `$.a.b[0]["c d"]`. Undefined for anything else: a wildcard, a slice, a path of
 * more than 64 segments.
 */
export function parseJsonPath(path: string): readonly PathSegment[] | undefined {
  if (!path.startsWith("$")) return undefined;
  const segments: PathSegment[] = [];
  let position = 1;
  while (position < path.length) {
    segmentAt.lastIndex = position;
    const found = segmentAt.exec(path);
    const segment = found === null ? undefined : toSegment(found);
    if (segment === undefined || segments.length === deepest) return undefined;
    segments.push(segment);
    position = segmentAt.lastIndex;
  }
  return segments;
}

function toSegment([, key, index, quoted]: RegExpExecArray): PathSegment | undefined {
  if (index !== undefined) return Number(index);
  return quoted === undefined ? key : unquote(quoted);
}

/** The escapes are those of JSON, but for the quote that a name in single quotes has to escape. */
function unquote(quoted: string): string | undefined {
  const inside = quoted.slice(1, -1);
  const escaped = quoted.startsWith("'") ? inside.replace(/\\'|"/g, (found) => (found === '"' ? '\\"' : "'")) : inside;
  try {
    return String(JSON.parse(`"${escaped}"`));
  } catch {
    return undefined;
  }
}
