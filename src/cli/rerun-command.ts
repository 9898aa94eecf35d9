// Implements `turnwright rerun`, which repeats a run up to an iteration and continues with different options, taken from the user's module
// or an installed SDK.

import { lstat, rm } from "node:fs/promises";
import { relative, resolve, sep, join } from "node:path";
import { isRecord } from "../core/kit.ts";
import {
  createLoopEvents,
  isLoopError,
  type LoopEvents,
  type LoopOptions,
  type LoopResult,
  type Provider,
  runToolLoop,
  type Tool,
} from "../core/index.ts";
import { countThings, formatMs, formatUSD } from "../inspect/format.ts";
import { runLog } from "../inspect/log/middleware.ts";
import { findStart } from "../inspect/log/log-file.ts";
import type { Past } from "../inspect/rerun/past.ts";
import { continuePast, readPast, type RerunOptions } from "../inspect/rerun/rerun-from.ts";
import { CliError, type CliIO, messageOf, parseArguments, toIteration, wrongUsage } from "./cli-io.ts";
import { importModule } from "./import-module.ts";
import { besideLog, notALog } from "./log-files.ts";
import { pathToFileURL } from "node:url";
import { createRequire } from "node:module";
import { anthropicMessages } from "../anthropic/index.ts";
import { googleGenerateContent } from "../google/index.ts";
import { openaiChat } from "../openai/index.ts";

/** The argument passed to a module's options function. */
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

const fromLog = ["messages", "answers", "resume"] as const;

async function loadOptions(module: string | undefined, facts: ModuleFacts, io: CliIO): Promise<LoadedOptions> {
  if (module === undefined) return {};
  const { options, ignored } = await loadModule(module, io.cwd, facts);
  if (ignored.length > 0) io.note(`Ignoring ${ignored.join(", ")} from ${module}: the new run takes them from the log.`);
  return options;
}

/**
 * Imports the module, and returns its `options` export, or else its default export. If the export is a function, calls it and
 * returns the result.
 */
async function loadModule(given: string, cwd: string, facts: ModuleFacts): Promise<LoadedModule> {
  const loaded = await importModule(given, cwd);
  const exported = loaded["options"] ?? loaded["default"];
  const options: unknown = typeof exported === "function" ? await callFactory(exported as Factory, given, facts) : exported;
  if (isRecord(options)) {
    if (facts.model !== undefined && options === exported && options["provider"] !== undefined)
      throw wrongUsage(`--model does not change the provider of ${given}. Export a function that takes { model }.`);
    const own = Object.fromEntries(Object.entries(options).filter(([name]) => !fromLog.some((one) => one === name)));
    return { options: own, ignored: fromLog.filter((name) => name in options || name in loaded) };
  }
  throw new CliError(
    `${given} exports no options. Export \`options\`: an object such as { provider, tools }, or a function that returns one.`,
  );
}

type Factory = (facts: ModuleFacts) => unknown;

async function callFactory(factory: Factory, given: string, facts: ModuleFacts): Promise<unknown> {
  try {
    return await factory(facts);
  } catch (error) {
    throw new CliError(`The function in ${given} failed: ${messageOf(error)}.`, 1, { cause: error });
  }
}

interface Sdk {
  readonly packageName: string;
  readonly client: string;
  /** The environment variables that may contain the key, with the preferred one first. */
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

/** Creates the provider whose id is in the log. Reads its key from the environment. */
async function createSdkProvider(id: string, model: string, { cwd, env }: CliIO): Promise<Provider> {
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

/** Adds the tools that exist only in the log. They have no `execute`, so a call to one of them suspends the run. */
function completeTools({ tools = [] }: LoadedOptions, past: Past): Completed {
  if (!Array.isArray(tools)) return { tools, missing: [] };
  const own = tools as readonly Tool[];
  const names = new Set(own.map(({ name }) => name));
  const missing = past.tools.filter(({ name }) => !names.has(name));
  const shown = missing.map(({ name, description, inputSchema }): Tool => ({ name, description, inputSchema }));
  return { tools: [...own, ...shown], missing: missing.map(({ name }) => name) };
}

const options = {
  from: { type: "string" },
  run: { type: "string" },
  module: { type: "string" },
  model: { type: "string" },
  out: { type: "string", short: "o" },
} as const;

export async function rerunLog(args: readonly string[], io: CliIO): Promise<void> {
  const { values, positionals } = parseArguments(args, options);
  const [given, ...others] = positionals;
  if (given === undefined || others.length > 0) throw wrongUsage("`rerun` needs the path to a log or a journal.");
  const iteration = readIteration(values.from);
  const source = resolve(io.cwd, given);
  const past = await readFirst(source, { given, at: { iteration, runId: values.run } });
  const facts = { model: values.model, log: { provider: past.provider, model: past.model, system: past.system } };
  const loaded = await loadOptions(values.module, facts, io);
  const provider = loaded.provider ?? (await createSdkProvider(past.provider, values.model ?? past.model, io));
  const { tools, missing } = completeTools(loaded, past);
  const events = loaded.events ?? createLoopEvents();
  const own = past.system === undefined ? {} : { system: past.system };
  const all: RerunOptions = {
    ...own,
    ...loaded,
    provider,
    ...(tools !== undefined && { tools }),
    events,
    signal: loaded.signal ?? io.stopSignal(),
  };
  const out = await chooseOut(source, values.out, io.cwd);
  const repeated =
    iteration === 0 ? "Repeats no iterations, and starts" : `Repeats iterations 0 to ${iteration - 1}, then continues`;
  io.note(`${repeated} with ${provider.id} ${provider.model}.`);
  if (missing.length > 0)
    io.note(
      `The code of these tools is missing, so a call to one of them suspends the run: ${missing.join(", ")}. Provide them with --module.`,
    );
  events.on("iteration-end", (event) => noteIteration(event, io));
  const totals = new LiveTotals(events);
  const continued = continuePast(past, iteration, all);
  const middleware = [runLog({ to: out }), ...(continued.middleware ?? [])];
  const result = await runLive({ ...continued, middleware }, { events, iteration, out });
  report(result, { io, totals, first: relativeTo(io.cwd, source), second: relativeTo(io.cwd, out) });
}

interface Live {
  readonly events: NonNullable<LoopOptions["events"]>;
  readonly iteration: number;
  readonly out: string;
}

/** Runs the loop. If the run rejects before its first new iteration, its log is removed, because the log shows nothing new. */
async function runLive(live: LoopOptions, { events, iteration, out }: Live): Promise<LoopResult> {
  let hasStarted = false;
  events.on("iteration-start", (event) => {
    hasStarted ||= event.path === undefined && event.iteration >= iteration;
  });
  try {
    return await runToolLoop(live);
  } catch (error) {
    if (!hasStarted) await rm(out, { force: true });
    throw error;
  }
}

function readIteration(from: string | undefined): number {
  const iteration = toIteration(from ?? "");
  if (iteration !== undefined) return iteration;
  throw wrongUsage(
    from === undefined
      ? "`rerun` needs --from with an iteration, such as --from i3."
      : `--from is "${from}", but must be an iteration such as i3.`,
  );
}

interface Reading {
  readonly given: string;
  readonly at: Parameters<typeof readPast>[1];
}

async function readFirst(source: string, { given, at }: Reading): Promise<Past> {
  try {
    if ((await findStart(source)) === undefined) throw notALog(given);
    return await readPast(source, at);
  } catch (error) {
    if (error instanceof CliError || isLoopError(error)) throw error;
    throw new CliError(`${given} cannot be read: ${messageOf(error)}.`, 1, { cause: error });
  }
}

/** Returns the path for the new log. Never continues an existing log, so that each log contains one run. */
async function chooseOut(source: string, out: string | undefined, cwd: string): Promise<string> {
  for (let count = 1; ; count += 1) {
    const path = out === undefined ? besideLog(source, `-rerun${count === 1 ? "" : count}.jsonl`) : resolve(cwd, out);
    // Uses `lstat` because it also finds a symbolic link whose target does not exist.
    const isTaken = await lstat(path).then(
      () => true,
      () => false,
    );
    if (!isTaken) return path;
    if (out !== undefined) throw new CliError(`${out} already exists. Choose another path with -o.`);
  }
}

function noteIteration(
  { path, replayed, iteration, status, calls, usage, costUSD }: LoopEvents["iteration-end"],
  io: CliIO,
): void {
  if (path !== undefined || replayed === true) return;
  const made = calls.map(({ name, outcome }) => `${name} (${outcome})`).join(", ");
  const tokens = usage === undefined ? "" : `${usage.totalTokens} tokens`;
  const cost = costUSD === undefined ? "" : formatUSD(costUSD);
  io.note([`i${iteration} ${status}`, made, tokens, cost].filter((part) => part !== "").join(" · "));
}

interface Report {
  readonly io: CliIO;
  readonly totals: LiveTotals;
  readonly first: string;
  readonly second: string;
}

function report({ status, reason, text, pendingCalls }: LoopResult, { io, totals, first, second }: Report): void {
  io.note(`Ended: ${status} (${reason.kind}).`);
  io.note(`Live: ${totals.describe()}.`);
  if (text !== "") io.note(text);
  const waiting = pendingCalls.map(({ name }) => name).join(", ");
  if (status === "suspended") io.note(`These calls are waiting: ${waiting}. To continue, provide their tools with --module.`);
  io.out(second);
  io.note(`Compare both runs: npx turnwright inspect ${quotePath(first)} ${quotePath(second)}`);
  if (status === "error") throw new CliError("The new run ended with an error. Its log has the details.");
}

function relativeTo(cwd: string, path: string): string {
  const short = relative(cwd, path);
  return short.startsWith("..") ? path : short;
}

/** Quotes a path for a POSIX shell. In single quotes, no character has a special meaning. */
function quotePath(path: string): string {
  const named = path.startsWith("-") ? `.${sep}${path}` : path;
  const plain = sep === "\\" ? /^[\w./:\\-]+$/ : /^[\w./:-]+$/;
  return plain.test(named) ? named : `'${named.replaceAll("'", "'\\''")}'`;
}

/** Adds up the time, tokens and cost of a run's new part and its nested runs. Repeated iterations do not count. */
class LiveTotals {
  readonly #startedAt = performance.now();
  #tokens = 0;
  #costUSD: number | undefined = 0;

  constructor(events: NonNullable<LoopOptions["events"]>) {
    events.on("iteration-end", (event) => this.#add(event));
    events.on("compaction-end", (event) => {
      // An event without a provider comes from a summary that failed before its request was sent, so it cost nothing.
      if (event.provider !== undefined) this.#add(event);
    });
  }

  #add({ replayed, usage, costUSD }: Pick<LoopEvents["iteration-end"], "replayed" | "usage" | "costUSD">): void {
    if (replayed === true) return;
    this.#tokens += usage?.totalTokens ?? 0;
    this.#costUSD = costUSD === undefined || this.#costUSD === undefined ? undefined : this.#costUSD + costUSD;
  }

  describe(): string {
    const cost = this.#costUSD === undefined ? "cost unknown" : formatUSD(this.#costUSD);
    return [formatMs(performance.now() - this.#startedAt), countThings(this.#tokens, "token"), cost].join(" · ");
  }
}
