// The texts of the help.

interface Usage {
  /** The arguments after the name of the program. */
  readonly forms: readonly string[];
  readonly text: string;
}

export const usages: { readonly [Name in "inspect" | "export" | "rerun"]: Usage } = {
  inspect: {
    forms: ["inspect <log...> [-o page.html] [--no-open]", "inspect <log...> --live [--port 8080] [--no-open]"],
    text: `inspect writes a page that shows runs, and opens it. A log is a file of withRunLog, a file of
fileJournal, or a folder with such files.
  -o, --out <path>    the page. Default: beside the log
  --no-open           do not open a browser
  --live              serve the page on 127.0.0.1, and follow logs that grow or do not exist yet
  --port <number>     the port of the server. Default: a free one`,
  },
  export: {
    forms: ["export <log> --format <format> [-o file]"],
    text: `export writes a log for another tool.
  -f, --format <name> chrome-trace (opens in Perfetto and speedscope) or markdown (a transcript)
  -o, --out <path>    the file. Default: beside the log`,
  },
  rerun: {
    forms: ["rerun <log> --from i3 [--module agent.mjs] [--model name] [-o rerun.jsonl]"],
    text: `rerun repeats a run up to an iteration without any request or tool call, and then goes on live.
  --from <iteration>  the first iteration that runs again, such as i3
  --module <path>     a module that exports \`options\`: provider, tools, system, limits, ...
  --model <name>      the model. If the module has no provider, the provider of the log is used,
                      with its SDK and the key in the environment
  --run <id>          the run, if the log has several
  -o, --out <path>    the new log. Default: beside the first one`,
  },
};

export const generalOptions = `  -h, --help          show this help, or the help of a command
  -v, --version       show the version`;

export const exitCodes = "Exit codes: 0 for success, 1 for a problem, 2 for wrong usage.";
