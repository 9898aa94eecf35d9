// Gives commands access to the terminal, the environment and the browser. Tests use a substitute.

import { parseArgs, type ParseArgsConfig } from "node:util";

export interface CliIO {
  readonly cwd: string;
  readonly env: { readonly [name: string]: string | undefined };
  /** True if a person is reading the output. Only then may a browser be opened. */
  readonly isTerminal: boolean;
  /** The folder of this package. */
  readonly packageFolder: string;
  out(line: string): void;
  /** Writes a line about progress or a problem. */
  note(line: string): void;
  /**
   * Runs another command of this program in a separate process, and resolves to its exit code. Forwards that process's notes. Ends the
   * process if the signal is aborted.
   */
  runSelf(args: readonly string[], how: SelfRun): Promise<number>;
  /** Asks the person at the terminal a question. Absent if nobody is there to answer. */
  readonly ask?: ((question: string) => Promise<string>) | undefined;
  /** Opens a file or a URL in the browser. Returns false if the system has no program for that. */
  open(target: string): boolean;
  /**
   * Returns an AbortSignal that the first SIGINT or SIGTERM aborts. After this call, the first SIGINT or SIGTERM no longer ends
   * the process on its own. So call `stopSignal` only immediately before the command waits, and end the command when the AbortSignal
   * is aborted.
   */
  stopSignal(): AbortSignal;
  /** Calls `take` for each later uncaught error. These errors then no longer end the process. */
  catchErrors?(take: (error: unknown) => void): void;
}

export interface SelfRun extends Pick<CliIO, "cwd" | "env" | "note"> {
  readonly signal: AbortSignal;
}

/** A problem that the person at the terminal can solve. Its message says what is wrong, then what to do. */
export class CliError extends Error {
  override readonly name = "CliError";
  /** The exit code of the program: 1 for a problem with files or runs, 2 for incorrect usage. */
  readonly exitCode: 1 | 2;

  constructor(message: string, exitCode: 1 | 2 = 1, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}

export function wrongUsage(message: string): CliError {
  return new CliError(`${message} Run \`npx turnwright --help\` for help.`, 2);
}

/** Returns any thrown value's message, without its final period. */
export function messageOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).replace(/\.$/, "");
}

type Values<Options extends NonNullable<ParseArgsConfig["options"]>> = {
  readonly [Name in keyof Options]?: Options[Name] extends { type: "boolean" }
    ? boolean
    : Options[Name] extends { multiple: true }
      ? readonly string[]
      : string;
};

interface Parsed<Options extends NonNullable<ParseArgsConfig["options"]>> {
  readonly values: Values<Options>;
  readonly positionals: readonly string[];
}

/** Reads an iteration number, such as "i3" or "3". Returns undefined for any other string. */
export function toIteration(text: string): number | undefined {
  const digits = /^i?(\d{1,9})$/.exec(text)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

export function parseArguments<const Options extends NonNullable<ParseArgsConfig["options"]>>(
  args: readonly string[],
  options: Options,
): Parsed<Options> {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options,
      allowPositionals: true,
    });
    return { values, positionals };
  } catch (error) {
    // Keeps only the first sentence of Node's message, which names the invalid argument. The rest explains how to escape it.
    const [message = ""] = messageOf(error).split(". ");
    throw wrongUsage(`${message}.`);
  }
}
