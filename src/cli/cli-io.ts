// The terminal, the environment and the browser of a command, which tests replace.

import { parseArgs, type ParseArgsConfig } from "node:util";

export interface CliIO {
  readonly cwd: string;
  readonly env: { readonly [name: string]: string | undefined };
  /** True if a person reads the output. Only then may a browser be opened. */
  readonly isTerminal: boolean;
  out(line: string): void;
  /** Writes a line about the progress or a problem. */
  note(line: string): void;
  /** Opens a file or a URL in the browser. Returns false if there is no program for it. */
  open(target: string): boolean;
  /**
   * Returns a signal that the first SIGINT or SIGTERM aborts. From this call on, this first signal no longer ends the process. So
   * call this only before the command waits, and end the command when the signal is aborted.
   */
  stopSignal(): AbortSignal;
}

/** A problem that the person at the terminal can solve. Its message says what is wrong, then what to do. */
export class CliError extends Error {
  override readonly name = "CliError";
  /** 1 for a problem with files or runs, 2 for wrong usage. */
  readonly exitCode: 1 | 2;

  constructor(message: string, exitCode: 1 | 2 = 1, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}

export function wrongUsage(message: string): CliError {
  return new CliError(`${message} Run \`npx turnwright --help\` for the usage.`, 2);
}

/** Returns the message of any thrown value, without its last full stop. */
export function messageOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).replace(/\.$/, "");
}

type Values<Options extends NonNullable<ParseArgsConfig["options"]>> = {
  readonly [Name in keyof Options]?: Options[Name] extends { type: "boolean" } ? boolean : string;
};

interface Parsed<Options extends NonNullable<ParseArgsConfig["options"]>> {
  readonly values: Values<Options>;
  readonly positionals: readonly string[];
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
    // Node names the wrong argument in its first sentence. The others explain how to escape it, and are left out.
    const [message = ""] = messageOf(error).split(". ");
    throw wrongUsage(`${message}.`);
  }
}
