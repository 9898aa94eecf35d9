import { createInterface } from "node:readline";
import { createFileTools } from "./file-tools.ts";
import { chooseModel } from "./model.ts";
import { script } from "./script.ts";
import { createSession } from "./session.ts";

const session = createSession({
  provider: await chooseModel(script),
  tools: createFileTools(process.cwd()),
  folder: ".data/conversations",
  write: (text) => void process.stdout.write(text),
});
console.log("Ask about the files of this folder. Ctrl+C stops an answer; Ctrl+C again ends the program.\n");

const terminal = createInterface({ input: process.stdin, output: process.stdout, prompt: "> " });
terminal.prompt();
terminal.on("line", (line) => {
  if (line.trim() === "") return terminal.prompt();
  session.say(line).then(
    () => terminal.prompt(),
    (error: unknown) => console.error(error),
  );
});
terminal.on("SIGINT", () => (session.isWorking ? session.stop() : terminal.close()));
