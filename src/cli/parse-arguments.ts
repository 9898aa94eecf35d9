// Parses the arguments of a command.

import { parseArgs, type ParseArgsConfig } from "node:util";
import { messageOf, wrongUsage } from "./cli-io.ts";

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
    // The first sentence of the message names the argument. The others explain how to escape it.
    const [message = ""] = messageOf(error).split(". ");
    throw wrongUsage(`${message}.`);
  }
}
