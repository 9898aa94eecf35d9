// Turns the tree of a pattern into a program of a few kinds of instructions. Bounded repetitions are written out.

import { assertNever } from "../assert-never.ts";
import type { CharTest } from "./char-test.ts";
import type { Assertion, PatternNode, Times } from "./parse-pattern.ts";

/**
 * One step of a program; the next one follows, where it names no other.
 *
 * `loops` counts the enclosing repetitions that may go round without taking a character. In JavaScript such a round does not
 * count: "progress" ends a thread that took nothing since the round began.
 */
type Instruction =
  | { readonly kind: "char"; readonly test: CharTest; readonly loops: number }
  | { readonly kind: "assert"; readonly where: Assertion }
  | { readonly kind: "fork"; readonly first: number; readonly second: number }
  | { readonly kind: "jump"; readonly to: number }
  | { readonly kind: "progress"; readonly loops: number }
  | { readonly kind: "match" };

/** What a simulation runs. */
export interface Program {
  readonly instructions: readonly Instruction[];
  /** The deepest `loops`. */
  readonly deepestLoop: number;
}

/** How large a program may become. Counted are the parts of the tree, each once per repetition, and once more for each of its `loops`. */
const longestProgram = 500;

/** Writes the program, or answers undefined where it would be too long. */
export function compilePattern(root: PatternNode): Program | undefined {
  const draft: Draft = { instructions: [], left: longestProgram, deepestLoop: 0 };
  write(root, 0, draft);
  if (draft.left < 0) return undefined;
  draft.instructions.push({ kind: "match" });
  return { instructions: draft.instructions, deepestLoop: draft.deepestLoop };
}

interface Draft {
  readonly instructions: Instruction[];
  /** Below 0 the pattern is given up: nothing more is repeated. */
  left: number;
  deepestLoop: number;
}

function write(node: PatternNode, loops: number, draft: Draft): void {
  draft.left -= 1 + loops;
  switch (node.kind) {
    case "char":
      draft.instructions.push({ kind: "char", test: node.test, loops });
      return;
    case "assert":
      draft.instructions.push({ kind: "assert", where: node.where });
      return;
    case "sequence":
      for (const part of node.parts) write(part, loops, draft);
      return;
    case "choice":
      writeChoice(node.options, loops, draft);
      return;
    case "repeat":
      writeRepeat(node, loops, draft);
      return;
    default:
      assertNever(node);
  }
}

function writeChoice(options: readonly PatternNode[], loops: number, draft: Draft): void {
  const { instructions } = draft;
  const ends: number[] = [];
  for (const [index, option] of options.entries()) {
    if (index === options.length - 1) {
      write(option, loops, draft);
      continue;
    }
    const fork = reserve(draft);
    write(option, loops, draft);
    ends.push(reserve(draft));
    instructions[fork] = { kind: "fork", first: fork + 1, second: instructions.length };
  }
  for (const end of ends) instructions[end] = { kind: "jump", to: instructions.length };
}

function writeRepeat({ body, times }: PatternNode & { readonly kind: "repeat" }, loops: number, draft: Draft): void {
  const { instructions } = draft;
  let latest = instructions.length;
  for (let count = 0; count < times.min && draft.left >= 0; count += 1) {
    latest = instructions.length;
    write(body, loops, draft);
  }
  const round: Round = { body, times, loops, mayBeEmpty: mayBeEmpty(body) };
  if (times.max !== Number.POSITIVE_INFINITY) writeOptional(round, draft);
  else if (times.min === 0 || round.mayBeEmpty) writeLoop(round, draft);
  // The last round that must be also serves for those that may be.
  else instructions.push(forkTo(times, latest, instructions.length + 1));
}

/** One round of a repetition that need not happen. */
interface Round {
  readonly body: PatternNode;
  readonly times: Times;
  readonly loops: number;
  readonly mayBeEmpty: boolean;
}

function writeLoop(round: Round, draft: Draft): void {
  const { instructions } = draft;
  const fork = reserve(draft);
  writeRound(round, draft);
  instructions.push({ kind: "jump", to: fork });
  instructions[fork] = forkTo(round.times, fork + 1, instructions.length);
}

/** Each round is in the round before: whoever leaves one out leaves out those that follow. */
function writeOptional(round: Round, draft: Draft): void {
  const { instructions } = draft;
  const forks: number[] = [];
  for (let count = round.times.min; count < round.times.max && draft.left >= 0; count += 1) {
    forks.push(reserve(draft));
    writeRound(round, draft);
  }
  for (const fork of forks) instructions[fork] = forkTo(round.times, fork + 1, instructions.length);
}

function writeRound({ body, loops, mayBeEmpty }: Round, draft: Draft): void {
  const inner = mayBeEmpty ? loops + 1 : loops;
  draft.deepestLoop = Math.max(draft.deepestLoop, inner);
  write(body, inner, draft);
  if (mayBeEmpty) draft.instructions.push({ kind: "progress", loops: inner });
}

function forkTo({ greedy }: Times, into: number, past: number): Instruction {
  return greedy ? { kind: "fork", first: into, second: past } : { kind: "fork", first: past, second: into };
}

/** A place for an instruction that is known later. */
function reserve({ instructions }: Draft): number {
  return instructions.push({ kind: "match" }) - 1;
}

function mayBeEmpty(node: PatternNode): boolean {
  switch (node.kind) {
    case "char":
      return false;
    case "assert":
      return true;
    case "sequence":
      return node.parts.every(mayBeEmpty);
    case "choice":
      return node.options.some(mayBeEmpty);
    case "repeat":
      return node.times.min === 0 || mayBeEmpty(node.body);
    default:
      return assertNever(node);
  }
}
