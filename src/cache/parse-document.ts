import { countBytes, toPlainError } from "../core/entry-kit.ts";

/** The largest JSON text in bytes. Parsing it takes about 0.1 seconds. */
export const mostJsonBytes: number = 8 * 1_024 * 1_024;

/** The maximum number of values in a document, which limits the memory of the parsed document. */
const mostValues = 1_000_000;

/** The maximum nesting depth. The evaluation of a path is recursive. */
export const mostDepth = 100;

/** Parses a JSON text. Throws if the text is not JSON, or is too large or nested too deeply. */
export function parseDocument(text: string): unknown {
  const bytes = countBytes(text);
  if (bytes > mostJsonBytes) throw tooLarge(bytes);
  // A byte order mark is not part of the document.
  const written = text.startsWith("\uFEFF") ? text.slice(1) : text;
  checkShape(written);
  try {
    return JSON.parse(written);
  } catch (error) {
    const reason = toPlainError(error).message.replace(/\.$/, "");
    throw new Error(`The text is not JSON: ${reason}. Use the actions read and grep.`, { cause: error });
  }
}

export function tooLarge(bytes: number): Error {
  return new Error(
    `The text has ${bytes} bytes, and json reads at most ${mostJsonBytes}. Use the actions grep and read to find the part that you need.`,
  );
}

const quote = 34;
const backslash = 92;
const comma = 44;
const openers: ReadonlySet<number> = new Set([91, 123]);
const closers: ReadonlySet<number> = new Set([93, 125]);

/** Checks the depth and the number of values before the text is parsed, because parsing could need too much memory. */
function checkShape(text: string): void {
  let depth = 0;
  let values = 1;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit === quote) index = endOfString(text, index + 1);
    else if (unit === comma) values += 1;
    else if (openers.has(unit)) {
      depth += 1;
      values += 1;
    } else if (closers.has(unit)) depth -= 1;
    if (depth > mostDepth)
      throw new Error(`The JSON is nested more than ${mostDepth} levels deep. Use the actions read and grep.`);
    if (values > mostValues) throw new Error(`The JSON has more than ${mostValues} values. Use the actions read and grep.`);
  }
}

function endOfString(text: string, start: number): number {
  for (let index = start; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit === backslash) index += 1;
    else if (unit === quote) return index;
  }
  return text.length;
}
