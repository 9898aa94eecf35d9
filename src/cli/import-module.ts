import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { isLoopError } from "../core/index.ts";
import { isRecord } from "../core/kit.ts";
import { CliError, messageOf } from "./cli-io.ts";

/** Imports the user's module. `given` is its path, relative to `cwd`. */
export async function importModule(given: string, cwd: string): Promise<{ readonly [name: string]: unknown }> {
  try {
    return (await import(pathToFileURL(resolve(cwd, given)).href)) as { readonly [name: string]: unknown };
  } catch (error) {
    const isTypeScript = isRecord(error) && error["code"] === "ERR_UNKNOWN_FILE_EXTENSION";
    const advice = isTypeScript ? "Use Node 22.18 or later for TypeScript, or pass a .mjs file" : "Check the path and the module";
    // An error from this package already says what to do, so no advice is added.
    const text = isLoopError(error)
      ? `${given}: ${messageOf(error)}.`
      : `${given} cannot be loaded: ${messageOf(error)}. ${advice}.`;
    throw new CliError(text, 1, { cause: error });
  }
}
