// The lines of a cached result. JSON is often a single line of any length, so that long lines are several.

/** Longest line, in UTF-16 units; also far less than a regular expression is searched for in. */
const longestLine = 1_000;

/** How far back a long line is looked through for a place to break it. */
const slack = 200;

/** Splits a text into lines of at most 1,000 units, long ones behind a comma or a blank where there is one near. */
export function toLines(text: string): readonly string[] {
  const lines: string[] = [];
  for (const line of text.split(/\r\n|\n|\r/)) {
    let from = 0;
    while (line.length - from > longestLine) {
      const end = findBreak(line, from);
      lines.push(line.slice(from, end));
      from = end;
    }
    lines.push(line.slice(from));
  }
  return lines;
}

function findBreak(line: string, from: number): number {
  const end = from + longestLine;
  // Only the part that may hold the break is searched: `lastIndexOf` on the line itself would look back to its start each time.
  const tail = line.slice(end - slack, end);
  const near = Math.max(tail.lastIndexOf(","), tail.lastIndexOf(" ")) + 1;
  if (near > 0) return end - slack + near;
  // Never between the halves of a surrogate pair.
  return (line.codePointAt(end - 1) ?? 0) > 0xffff ? end - 1 : end;
}
