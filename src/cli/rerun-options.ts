// Loads the options of a new run: from the module that the user passed, or from an SDK that is installed.

import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { createRequire } from "node:module";
import { isRecord, type Provider, type Tool } from "../core/entry-kit.ts";
import type { Past } from "../inspect/rerun/past.ts";
import type { RerunOptions } from "../inspect/rerun/rerun-from.ts";
import { anthropicMessages } from "../anthropic/index.ts";
import { googleGenerateContent } from "../google/index.ts";
import { openaiChat } from "../openai/index.ts";
import { CliError, type CliIO, messageOf, wrongUsage } from "./cli-io.ts";

/** The argument of a function that a module exports as its options. */
interface ModuleFacts {
  readonly model: string | undefined;
  readonly log: { readonly provider: string; readonly model: string; readonly system: string | undefined };
}

type LoadedOptions = Partial<RerunOptions>;

interface LoadedModule {
  readonly options: LoadedOptions;
  /** The names of options and exports that are ignored, because the new run gets these values from the log. */
  readonly ignored: readonly string[];
}

const fromLog = ["messages", "decisions", "resume"] as const;

export async function loadOptions(module: string | undefined, facts: ModuleFacts, io: CliIO): Promise<LoadedOptions> {
  if (module === undefined) return {};
  const { options, ignored } = await loadModule(module, io.cwd, facts);
  if (ignored.length > 0) io.note(`Ignores ${ignored.join(", ")} of ${module}: the new run takes them from the log.`);
  return options;
}

/**
 * Imports the module, and returns its export `options`, or else its default export. If the export is a function, calls it and
 * returns the result.
 */
async function loadModule(given: string, cwd: string, facts: ModuleFacts): Promise<LoadedModule> {
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

interface Sdk {
  readonly packageName: string;
  readonly client: string;
  /** The environment variables that may hold the key, the preferred one first. */
  readonly keys: readonly string[];
  create(client: unknown, model: string): Provider;
}

const sdks: { readonly [id: string]: Sdk | undefined } = {
  openai: {
    packageName: "openai",
    client: "OpenAI",
    keys: ["OPENAI_API_KEY"],
    create: (client, model) => openaiChat({ client: client as never, model }),
  },
  anthropic: {
    packageName: "@anthropic-ai/sdk",
    client: "Anthropic",
    keys: ["ANTHROPIC_API_KEY"],
    create: (client, model) => anthropicMessages({ client: client as never, model }),
  },
  google: {
    packageName: "@google/genai",
    client: "GoogleGenAI",
    keys: ["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    create: (client, model) => googleGenerateContent({ client: client as never, model }),
  },
};

type Client = new (options: { readonly apiKey: string }) => unknown;

/** Makes the provider with the id that a log has. Reads its key from the environment. */
export async function createSdkProvider(id: string, model: string, { cwd, env }: CliIO): Promise<Provider> {
  const sdk = Object.hasOwn(sdks, id) ? sdks[id] : undefined;
  if (sdk === undefined) {
    const known = Object.keys(sdks).join(", ");
    throw new CliError(`There is no built-in provider "${id}" (known: ${known}). Pass a provider with --module.`);
  }
  const { packageName, keys } = sdk;
  const key = keys.map((name) => env[name]).find((value) => value !== undefined && value !== "");
  if (key === undefined)
    throw new CliError(`The provider "${id}" needs a key. Set ${keys.join(" or ")}, or pass a provider with --module.`);
  const loaded = await importSdk(packageName, cwd);
  const SdkClient = (loaded[sdk.client] ?? loaded["default"]) as Client;
  return sdk.create(new SdkClient({ apiKey: key }), model);
}

async function importSdk(packageName: string, cwd: string): Promise<{ readonly [name: string]: unknown }> {
  try {
    const path = createRequire(join(cwd, "resolve.js")).resolve(packageName);
    return (await import(pathToFileURL(path).href)) as { readonly [name: string]: unknown };
  } catch (error) {
    const isMissing = isRecord(error) && error["code"] === "MODULE_NOT_FOUND";
    const problem = isMissing
      ? `is not installed here. Run \`npm install ${packageName}\`, or pass`
      : `cannot be loaded: ${messageOf(error)}. Pass`;
    throw new CliError(`The package ${packageName} ${problem} a provider with --module.`, 1, { cause: error });
  }
}

interface Completed {
  readonly tools: LoadedOptions["tools"];
  readonly missing: readonly string[];
}

/** Adds the tools that only the log has. They have no `execute`, so calls of these tools suspend the run. */
export function completeTools({ tools = [] }: LoadedOptions, past: Past): Completed {
  if (!Array.isArray(tools)) return { tools, missing: [] };
  const own = tools as readonly Tool[];
  const names = new Set(own.map(({ name }) => name));
  const missing = past.tools.filter(({ name }) => !names.has(name));
  const shown = missing.map(({ name, description, inputSchema }): Tool => ({ name, description, inputSchema }));
  return { tools: [...own, ...shown], missing: missing.map(({ name }) => name) };
}
