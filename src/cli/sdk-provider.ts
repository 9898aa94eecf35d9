// Makes a provider from the SDK that is installed in the working directory.

import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { isRecord, type Provider } from "../core/entry-kit.ts";
import { anthropicMessages } from "../anthropic/index.ts";
import { googleGenerateContent } from "../google/index.ts";
import { openaiChat } from "../openai/index.ts";
import { CliError, type CliIO, messageOf } from "./cli-io.ts";

interface Sdk {
  readonly packageName: string;
  /** The export that makes a client. */
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

/** Makes the provider with an id of a log. The key comes from the environment. */
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
