// A run that explores the files of a repository: `npm run demo`, or `npm run demo -- ../another --ask "What does it do?"`. If
// OPENAI_API_KEY or ANTHROPIC_API_KEY is set, a real model answers. Otherwise, a scripted model answers.

import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { createLoopControl, finalAnswer, type LoopOptions, streamToolLoop } from "turnwright";
import { runLog } from "turnwright/inspect";
import { checkRun } from "./check-run.ts";
import { chooseModel } from "./choose-model.ts";
import { scriptedQuestion } from "./clues.ts";
import { createProgressView } from "./progress-view.ts";
import { readArguments } from "./read-arguments.ts";
import { createRunPage } from "./run-page.ts";
import { printSummary } from "./run-summary.ts";
import { createTerminal, printText } from "./terminal.ts";
import { createTools } from "./tools.ts";
import { openWorkspace } from "./workspace.ts";

const { values, positionals } = readArguments();
const terminal = createTerminal(process.stdout);
const model = chooseModel({ isPaced: terminal.isLive, isOffline: values.check });
const question = values.ask ?? scriptedQuestion;
if (model.isScripted && question !== scriptedQuestion) {
  console.error("The script can answer its own question only. Set OPENAI_API_KEY or ANTHROPIC_API_KEY to ask another.");
  process.exit(2);
}
const workspace = await openWorkspace(findFolder(positionals[0])).catch((error: unknown) => {
  console.error(`That folder cannot be opened: ${String(error)}`);
  process.exit(2);
});
const answering = model.isScripted ? "a script answers, for no key is set" : `${model.provider.model} answers`;
printText(terminal, question, "bold");
printText(terminal, `${workspace.root} · ${answering} · Ctrl-C stops\n`, "dim");

// #region run
const control = createLoopControl();
process.on("SIGINT", () => (control.hasStopRequest() ? control.kill() : control.stop({ requester: "Ctrl-C" })));

const page = await createRunPage();
const options: LoopOptions = {
  provider: model.provider,
  pricing: model.pricing,
  tools: createTools(workspace),
  system: "You explain a repository to a developer who is new to it. Look before you answer; name files and lines; be short.",
  messages: [{ role: "user", content: question }],
  limits: { maxIterations: 20, maxToolCalls: 60, maxTokens: 300_000, wallClockMs: 300_000 },
  middleware: [finalAnswer(), runLog({ to: page.log })],
  control,
};
const stream = streamToolLoop(options);
const view = createProgressView(terminal);
for await (const event of stream) view.show(event);
view.close();

const result = await stream.result;
// #endregion run
printSummary(result, model.priceNote, terminal);
const address = await page.write();
printText(terminal, `\nSee this run: ${address.href}`, "dim");

if (result.status === "stopped-by-user") process.exitCode = 130;
else if (result.status !== "completed") process.exitCode = 1;
if (model.isScripted && result.status !== "stopped-by-user") await checkRun(result, workspace);
if (values.check) {
  await page.check(result);
  await page.remove();
}

function findFolder(named: string | undefined): string {
  // npm starts a script in the folder of package.json. The user's path is relative to the folder in which `npm` was called.
  if (named !== undefined) return resolve(process.env["INIT_CWD"] ?? process.cwd(), named);
  return fileURLToPath(new URL("../..", import.meta.url));
}
