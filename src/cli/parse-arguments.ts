// Parses the arguments of a command.

import { parseArgs, type ParseArgsConfig } from "node:util";
import { wrongUsage } from "./cli-io.ts";

type Values<Options extends NonNullable<ParseArgsConfig["options"]>> = {
  readonly [Name in keyof Options]?: Options[Name] extends { type: "boolean" } ? boolean : string;
};

export interface Parsed<Options extends NonNullable<ParseArgsConfig["options"]>> {
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
    // The first sentence names the argument. The others are about escaping it.
    const [message = ""] = (error instanceof Error ? error.message : String(error)).split(". ");
    throw wrongUsage(`${message.replace(/\.$/, "")}.`);
  }
}

export function toNumber(name: string, text: string, { min, max }: { readonly min: number; readonly max: number }): number {
  const number = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (number >= min && number <= max) return number;
  throw wrongUsage(`--${name} must be a whole number from ${min} to ${max}, but is "${text}".`);
}
