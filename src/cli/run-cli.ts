import { isLoopError } from "../core/index.ts";
import { showControls } from "../inspect/format.ts";
import { CliError, type CliIO, wrongUsage } from "./cli-io.ts";
import { createProject, templates } from "./create-command.ts";
import { runEvals } from "./eval-command.ts";
import { exportLog, inspectLogs } from "./log-commands.ts";
import { rerunLog } from "./rerun-command.ts";

interface Usage {
  readonly forms: readonly string[];
  readonly text: string;
}

const templateLines = Object.entries(templates)
  .map(([name, text]) => `  ${name.padEnd(19)} ${text}`)
  .join("\n");

const usages: { readonly [Name in "create" | "eval" | "inspect" | "export" | "rerun"]: Usage } = {
  create: {
    forms: ["create [template] [folder] [--name my-app]"],
    text: `create makes a project that starts offline, and goes live once it has a key. Templates:
${templateLines}
  --name <name>       the name in package.json. Default: the name of the folder`,
  },
  inspect: {
    forms: ["inspect <log...> [-o page.html] [--no-open]", "inspect <log...> --live [--port 8080] [--no-open]"],
    text: `inspect writes a page that shows runs, and opens it. A log is a file written by runLog or
fileJournal, or a folder with such files.
  -o, --out <path>    the page. Default: next to the log
  --no-open           do not open a browser
  --live              serve the page on 127.0.0.1, and follow logs that grow or do not exist yet
  --port <number>     the port of the server. Default: a free one`,
  },
  export: {
    forms: ["export <log> --format <format> [-o file]"],
    text: `export writes a log for another tool.
  -f, --format <name> chrome-trace (opens in Perfetto and speedscope) or markdown (a transcript)
  -o, --out <path>    the file. Default: next to the log`,
  },
  rerun: {
    forms: ["rerun <log> --from i3 [--module agent.mjs] [--model name] [-o rerun.jsonl]"],
    text: `rerun repeats a run up to an iteration without any request or tool call, and then continues with the model.
  --from <iteration>  the first iteration that runs again, such as i3
  --module <path>     a module that exports \`options\`: provider, tools, system, limits, ...
  --model <name>      the model. If the module has no provider, the provider of the log is used,
                      with its SDK and the key in the environment
  --run <id>          the run, if the log has several
  -o, --out <path>    the new log. Default: next to the first one`,
  },
  eval: {
    forms: [
      "eval [files...] [--trials 5] [--case id] [--against main]",
      "eval [files...] --replay [--trial id] [--from i3]",
      "eval [files...] --trial id --save-test test",
    ],
    text: `eval runs the evaluations that files such as support.eval.mjs export (see defineEvaluation).
Without files, it runs those in this folder and below. Failed trials keep their files in
.turnwright/evals.
  --trials <number>   the number of trials of each case
  --case <id>         only this case. Repeat it for several cases
  --pass-rate <share> the share of trials that must pass, such as 0.8
  --stop-early [share] stop the trials of a case when its outcome is this certain, such as
                      0.95. Default: 0.997
  --max-cost <USD>    stop when all evaluations together, including those of --against, have cost
                      this amount. They run one after another, and each gets what is left
  --concurrency <n>   the number of trials that run at the same time
  --model <name>      the model, which evaluations get as trial.model
  --keep <which>      all or failed: the trials whose files are kept
  --directory <path>  the folder for the files of the trials
  --resume            continue after a stop or a crash: trials that have ended count, and do not run again
  --replay            replay kept trials without any model cost, and check them again
  --trial <id>        replay only this kept trial, such as refund/2. Repeat it for several trials
  --from <iteration>  replay kept trials, and continue with the model from this iteration, such as i3
  --save-test <dir>   write a test for each kept trial, with the recording of the model
  --runner <name>     the runner of these tests: vitest or node:test. Default: read from package.json
  --against <version> compare with a commit such as main, whose evaluations run in a git worktree,
                      or with a stored report. Cases that failed before may then fail again
  --max-drop <share>  how much lower the pass rate may be. Default: 0.05
  --save-baseline <path>  store the reports for a later --against
  --markdown <path>   write a report for a pull request. In GitHub Actions, the job gets it too
  --junit <path>      write a report for CI systems
  --html <path>       write a page with all evaluations`,
  },
};

const generalOptions = `  -h, --help          show this help, or the help of a command
  -v, --version       show the version`;

const exitCodes = "Exit codes: 0 for success, 1 for a problem, 2 for incorrect usage.";

interface Command {
  readonly run: (args: readonly string[], io: CliIO) => Promise<void>;
  readonly usage: (typeof usages)[keyof typeof usages];
}

const commands: { readonly [name: string]: Command | undefined } = {
  create: { run: createProject, usage: usages.create },
  inspect: { run: inspectLogs, usage: usages.inspect },
  export: { run: exportLog, usage: usages.export },
  rerun: { run: rerunLog, usage: usages.rerun },
  eval: { run: runEvals, usage: usages.eval },
};

/** Runs the command line. Resolves to the exit code, and never rejects. */
export async function runCli(args: readonly string[], terminal: CliIO & { readonly version: string }): Promise<number> {
  // Escapes control sequences for the terminal, because model output and file names may contain them.
  const io = {
    ...terminal,
    out: (line: string) => terminal.out(showControls(line)),
    note: (line: string) => terminal.note(showControls(line)),
  };
  try {
    const [name = "", ...rest] = args;
    if (args.some((arg) => arg === "--help" || arg === "-h") || name === "help")
      io.out(writeHelp(name === "help" ? rest[0] : name));
    else if (name === "--version" || name === "-v") io.out(io.version);
    else await findCommand(name).run(rest, io);
    return 0;
  } catch (error) {
    if (error instanceof CliError) {
      io.note(`turnwright: ${error.message}`);
      return error.exitCode;
    }
    io.note(`turnwright: ${isLoopError(error) ? error.message : describeError(error)}`);
    return 1;
  }
}

function writeHelp(name = ""): string {
  const named = Object.hasOwn(commands, name) ? commands[name] : undefined;
  const shown = named === undefined ? Object.values(usages) : [named.usage];
  const lines = shown.flatMap(({ forms }) => forms.map((form) => `  npx turnwright ${form}`));
  const parts = [`Usage:\n${lines.join("\n")}`, ...shown.map(({ text }) => text)];
  return [...parts, ...(named === undefined ? [generalOptions] : []), exitCodes].join("\n\n");
}

function findCommand(name: string): Command {
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (command !== undefined) return command;
  throw wrongUsage(name === "" ? "There is no command." : `There is no command "${name}".`);
}

function describeError(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
