// Loads the module with the options of a new run.

import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { isRecord } from "../core/entry-kit.ts";
import type { RerunOptions } from "../inspect/rerun/rerun-from.ts";
import { CliError, messageOf, wrongUsage } from "./cli-io.ts";

/** The facts that a module with a function gets. */
export interface ModuleFacts {
  /** The value of `--model`. */
  readonly model: string | undefined;
  /** The provider, the model and the system text of the first run, as far as its log has them. */
  readonly log: { readonly provider: string; readonly model: string; readonly system: string | undefined };
}

/** Options of a run, or a function that returns them. */
export type LoadedOptions = Partial<RerunOptions>;

export interface LoadedModule {
  readonly options: LoadedOptions;
  /** The names of options and exports that the new run gets from the log instead. */
  readonly ignored: readonly string[];
}

const fromLog = ["messages", "decisions", "resume"] as const;

/** Imports the module, and returns its export `options` or its default export. A function is called. */
export async function loadModule(given: string, cwd: string, facts: ModuleFacts): Promise<LoadedModule> {
  const loaded = await importModule(given, cwd);
  const exported = loaded["options"] ?? loaded["default"];
  const options: unknown = typeof exported === "function" ? await callFactory(exported as Factory, given, facts) : exported;
  if (isRecord(options)) {
    if (facts.model !== undefined && options === exported && options["provider"] !== undefined)
      throw wrongUsage(`--model does not change the provider of ${given}. Export a function that gets { model }.`);
    const own = Object.fromEntries(Object.entries(options).filter(([name]) => !fromLog.some((one) => one === name)));
    return { options: own, ignored: fromLog.filter((name) => name in options || name in loaded) };
  }
  throw new CliError(
    `${given} exports no options. Export \`options\`: an object such as { provider, tools }, or a function that returns one.`,
  );
}

type Factory = (facts: ModuleFacts) => unknown;

async function importModule(given: string, cwd: string): Promise<{ readonly [name: string]: unknown }> {
  try {
    return (await import(pathToFileURL(resolve(cwd, given)).href)) as { readonly [name: string]: unknown };
  } catch (error) {
    const isTypeScript = isRecord(error) && error["code"] === "ERR_UNKNOWN_FILE_EXTENSION";
    const advice = isTypeScript ? "Use Node 22.18 or later for TypeScript, or pass a .mjs file" : "Check the path and the module";
    throw new CliError(`${given} cannot be loaded: ${messageOf(error)}. ${advice}.`, 1, { cause: error });
  }
}

async function callFactory(factory: Factory, given: string, facts: ModuleFacts): Promise<unknown> {
  try {
    return await factory(facts);
  } catch (error) {
    throw new CliError(`The function of ${given} has failed: ${messageOf(error)}.`, 1, { cause: error });
  }
}
