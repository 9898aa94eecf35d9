// Whether a text that comes in pieces is a whole JSON object, at the cost of reading each piece once.

import { isRecord, parseJson } from "../core/provider-kit.ts";

/** What has come of one text. */
export interface ObjectScan {
  text: string;
  depth: number;
  inString: boolean;
  /** The character before was a backslash within a string. */
  isEscaped: boolean;
  /** "closed" as long as nothing but space follows the brace that closes the first one. */
  state: "open" | "closed" | "broken";
  /** The answer of the parser, which is asked once. */
  isObject: boolean | undefined;
}

/** Makes a scan of a text that may go on. */
export function createObjectScan(text: string): ObjectScan {
  const scan: ObjectScan = { text: "", depth: 0, inString: false, isEscaped: false, state: "open", isObject: undefined };
  extendScan(scan, text);
  return scan;
}

/** Takes the next piece. */
export function extendScan(scan: ObjectScan, piece: string): void {
  scan.text += piece;
  for (let index = 0; index < piece.length && scan.state !== "broken"; index += 1) {
    const code = piece.charCodeAt(index);
    if (scan.inString) readString(scan, code);
    else if (!isSpace(code)) readOutside(scan, code);
  }
}

/** Whether the text is a JSON object, and all of one. */
export function isWholeObject(scan: ObjectScan): boolean {
  if (scan.state !== "closed") return false;
  scan.isObject ??= isRecord(parseJson(scan.text));
  return scan.isObject;
}

const [quote, backslash] = [0x22, 0x5c];
const openers: ReadonlySet<number> = new Set([0x7b, 0x5b]);
const closers: ReadonlySet<number> = new Set([0x7d, 0x5d]);

function readString(scan: ObjectScan, code: number): void {
  if (scan.isEscaped) scan.isEscaped = false;
  else if (code === backslash) scan.isEscaped = true;
  else if (code === quote) scan.inString = false;
}

/** Which bracket closes which is for the parser to say. */
function readOutside(scan: ObjectScan, code: number): void {
  const isFirst = scan.depth === 0;
  if (isFirst && (scan.state === "closed" || code !== 0x7b)) scan.state = "broken";
  else if (code === quote) scan.inString = true;
  else if (openers.has(code)) scan.depth += 1;
  else if (closers.has(code)) {
    scan.depth -= 1;
    if (scan.depth === 0) scan.state = "closed";
  }
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}
