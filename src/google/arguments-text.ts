// The text of arguments that come value by value, for those who listen: JSON, piece by piece.

import type { PathSegment } from "./json-path.ts";

/** One value, or one more piece of a text. */
interface WrittenValue {
  readonly path: readonly PathSegment[];
  /** How many segments of the path there were before; all of them where a text goes on. */
  readonly known: number;
  /** The value, or the piece, as JSON. */
  readonly json: string;
  /** Whether the text goes on. */
  readonly isOpen: boolean;
}

/** The text so far. */
export interface ArgumentsText {
  /** The text that a value adds. */
  write(value: WrittenValue): string;
  /** The text that is left once the last value is written. */
  end(): string;
}

/**
 * Makes an empty text. It goes on as long as the values come in the order of a text, as a model writes them. From the first one on that
 * does not, such as a field of an object that was left, nothing more can be told.
 */
export function createArgumentsText(): ArgumentsText {
  let started = false;
  let lost = false;
  /** Where the latest value stands, and whether it is a text that goes on. */
  let path: readonly PathSegment[] = [];
  let isOpen = false;

  function follows(value: WrittenValue): boolean {
    if (!started) return true;
    const { known } = value;
    const goesOn = known === value.path.length;
    return isOpen === goesOn && value.path.slice(0, known).every((segment, depth) => segment === path[depth]);
  }

  return {
    write(value) {
      lost ||= !follows(value);
      if (lost) return "";
      const head = isOpen ? "" : toHead(value, started ? path : undefined);
      const body = isOpen ? value.json.slice(1) : value.json;
      started = true;
      ({ path, isOpen } = value);
      return head + (isOpen ? body.slice(0, -1) : body);
    },
    end() {
      if (lost) return "";
      return started ? closersOf(path, 1) + "}" : "{}";
    },
  };
}

/** Leaves what the value before stood in, and enters what this one stands in. */
function toHead({ path, known }: WrittenValue, before: readonly PathSegment[] | undefined): string {
  let head = before === undefined ? "{" : `${closersOf(before, known + 1)},`;
  for (let depth = known; depth < path.length; depth += 1) {
    const segment = path[depth];
    if (typeof segment === "string") head += `${JSON.stringify(segment)}:`;
    if (depth < path.length - 1) head += typeof path[depth + 1] === "number" ? "[" : "{";
  }
  return head;
}

/** What ends the lists and objects from the innermost one to that of the segment at a depth. */
function closersOf(path: readonly PathSegment[], depth: number): string {
  let closers = "";
  for (let inner = path.length - 1; inner >= depth; inner -= 1) closers += typeof path[inner] === "number" ? "]" : "}";
  return closers;
}
