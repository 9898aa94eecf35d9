import { parseArgs } from "node:util";
import { isOn } from "./terminal.ts";

const usage = `Usage: npm run demo -- [folder] [--ask "question"] [--check]

  folder    the repository to explore; this one, unless named
  --ask     what to ask about it, where a key is set
  --check   has the script answer, also where there is a key (so does CI=1)
  --help    prints this

  OPENAI_API_KEY    has your model answer in place of the script
  OPENAI_MODEL      names the model
  OPENAI_BASE_URL   another server that speaks Chat Completions
  OPENAI_PRICES     USD for a million tokens in and out, such as 0.25/2
  ANTHROPIC_API_KEY, ANTHROPIC_MODEL, ANTHROPIC_BASE_URL, ANTHROPIC_PRICES
                    the same for a model of Anthropic's, where there is no key of OpenAI's`;

export interface Arguments {
  readonly values: { readonly ask?: string | undefined; readonly check: boolean };
  readonly positionals: readonly string[];
}

/** Reads the command-line options. After `--help` or an unknown option, prints the usage and exits. */
export function readArguments(): Arguments {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        ask: { type: "string" },
        check: { type: "boolean", default: isOn(process.env["CI"]) },
        help: { type: "boolean", short: "h", default: false },
      },
    });
    if (!values.help) return { values, positionals };
    console.log(usage);
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`);
    process.exit(2);
  }
  process.exit(0);
}
