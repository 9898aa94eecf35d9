// Runs a program over a text with all of its threads side by side: no character is read twice.

import { assertNever } from "../assert-never.ts";
import type { CharTest } from "./char-test.ts";
import type { Program } from "./compile-pattern.ts";
import type { Assertion } from "./parse-pattern.ts";

/** Where a match lies, in UTF-16 units; `end` is exclusive. */
interface TextRange {
  readonly start: number;
  readonly end: number;
}

/** What is run, and how characters are told. */
export interface Machine {
  readonly program: Program;
  /** Characters are code points, else UTF-16 units. */
  readonly unicode: boolean;
  /** What "\w" takes under the flags of the pattern. */
  readonly word: CharTest;
}

/** What came of a run. */
export interface ProgramRun {
  readonly range: TextRange | undefined;
  /** How many instructions were looked at. */
  readonly steps: number;
}

/**
 * Finds the first match and, of those that begin there, the one that JavaScript finds. A match ends within the first `longest`
 * units of the text.
 */
export function runProgram(machine: Machine, text: string, longest: number): ProgramRun {
  const simulation = new Simulation(machine, text);
  const last = Math.min(text.length, longest);
  for (let at = 0; at <= last && !simulation.isOver;) {
    simulation.arrive(at);
    const code = (machine.unicode ? text.codePointAt(at) : text.charCodeAt(at)) ?? 0;
    if (at < last) simulation.read(code);
    at += code > 0xffff ? 2 : 1;
  }
  return { range: simulation.range, steps: simulation.steps };
}

/** Threads, the preferred one first: the instruction at which each stands, and the place of the text at which it began. */
interface Threads {
  readonly instructions: Int32Array;
  readonly starts: Int32Array;
  count: number;
}

class Simulation {
  readonly #machine: Machine;
  readonly #text: string;
  /** Threads that have just read a character. */
  readonly #arrived: Threads;
  /** Threads that wait for one. */
  readonly #waiting: Threads;
  /** How many numbers of progressed loops there may be. */
  readonly #levels: number;
  /** Where in the text each state was reached last, plus 1. A state is an instruction times a number of progressed loops. */
  readonly #reachedAt: Int32Array;
  /** States to look at, the preferred one on top. */
  readonly #pending: number[] = [];
  range: TextRange | undefined;
  steps = 0;

  constructor(machine: Machine, text: string) {
    const { instructions, deepestLoop } = machine.program;
    this.#machine = machine;
    this.#text = text;
    this.#levels = deepestLoop + 1;
    this.#reachedAt = new Int32Array(instructions.length * this.#levels);
    // One more for the thread that begins.
    this.#arrived = createThreads(this.#reachedAt.length + 1);
    this.#waiting = createThreads(this.#reachedAt.length + 1);
  }

  /** True once nothing can change what was found. */
  get isOver(): boolean {
    return this.range !== undefined && this.#arrived.count === 0;
  }

  /** Leads each thread on to where it needs a character. Until a match is found, one more begins here, behind all others. */
  arrive(at: number): void {
    const { instructions } = this.#machine.program;
    const arrived = this.#arrived;
    this.#waiting.count = 0;
    if (this.range === undefined) add(arrived, 0, at);
    for (let index = 0; index < arrived.count; index += 1) {
      const place = arrived.instructions[index] ?? 0;
      const read = instructions[place - 1];
      // Whoever has read a character has made progress in all of the loops around it.
      const progressed = read?.kind === "char" ? read.loops : 0;
      const start = arrived.starts[index] ?? 0;
      if (!this.#lead(place * this.#levels + progressed, start, at)) continue;
      // What is found is preferred to all that come behind.
      this.range = { start, end: at };
      break;
    }
  }

  /** Hands the character to all who wait; those that it suits go on. */
  read(code: number): void {
    const { instructions } = this.#machine.program;
    const waiting = this.#waiting;
    this.#arrived.count = 0;
    this.steps += waiting.count;
    for (let index = 0; index < waiting.count; index += 1) {
      const place = waiting.instructions[index] ?? 0;
      const instruction = instructions[place];
      if (instruction?.kind !== "char" || !instruction.test.matches(code)) continue;
      add(this.#arrived, place + 1, waiting.starts[index] ?? 0);
    }
  }

  /** Follows one thread into all of its branches; true where it found a match. */
  #lead(from: number, start: number, at: number): boolean {
    const pending = this.#pending;
    pending.length = 0;
    for (let state: number | undefined = from; state !== undefined; state = pending.pop()) {
      // A preferred thread was here before, and does all that this one could.
      if (this.#reachedAt[state] === at + 1) continue;
      this.#reachedAt[state] = at + 1;
      this.steps += 1;
      if (this.#look(state, start, at)) return true;
    }
    return false;
  }

  /** Does one instruction that takes no character; true where it is the match. */
  #look(state: number, start: number, at: number): boolean {
    const levels = this.#levels;
    const progressed = state % levels;
    const place = (state - progressed) / levels;
    const instruction = this.#machine.program.instructions[place];
    if (instruction === undefined) return false;
    switch (instruction.kind) {
      case "char":
        add(this.#waiting, place, start);
        return false;
      case "assert":
        if (this.#holds(instruction.where, at)) this.#pending.push(state + levels);
        return false;
      case "fork":
        this.#pending.push(instruction.second * levels + progressed, instruction.first * levels + progressed);
        return false;
      case "jump":
        this.#pending.push(instruction.to * levels + progressed);
        return false;
      case "progress":
        if (progressed === instruction.loops) this.#pending.push(state + levels - 1);
        return false;
      case "match":
        return true;
      default:
        return assertNever(instruction);
    }
  }

  #holds(where: Assertion, at: number): boolean {
    switch (where) {
      case "start":
        return at === 0;
      case "end":
        return at === this.#text.length;
      case "line-start":
        return at === 0 || isLineEnd(this.#text.charCodeAt(at - 1));
      case "line-end":
        return at === this.#text.length || isLineEnd(this.#text.charCodeAt(at));
      case "word-edge":
        return this.#isWord(at - 1) !== this.#isWord(at);
      case "no-word-edge":
        return this.#isWord(at - 1) === this.#isWord(at);
      default:
        return assertNever(where);
    }
  }

  #isWord(at: number): boolean {
    return at >= 0 && at < this.#text.length && this.#machine.word.matches(this.#text.charCodeAt(at));
  }
}

function createThreads(most: number): Threads {
  return { instructions: new Int32Array(most), starts: new Int32Array(most), count: 0 };
}

function add(threads: Threads, instruction: number, start: number): void {
  threads.instructions[threads.count] = instruction;
  threads.starts[threads.count] = start;
  threads.count += 1;
}

function isLineEnd(unit: number): boolean {
  return unit === 0x0a || unit === 0x0d || unit === 0x2028 || unit === 0x2029;
}
