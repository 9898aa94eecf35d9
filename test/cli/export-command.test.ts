import { closeSync, openSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { runToolLoop } from "turnwright";
import { runLog } from "turnwright/inspect";
import { createMockProvider, text } from "turnwright/testing";
import { makeCliFolder, runCommand } from "./run-command.ts";
import { addWatchers } from "../add-watchers.ts";

async function makeLog(): Promise<string> {
  const folder = makeCliFolder();
  const provider = createMockProvider([text("Hello.")]);
  const messages = [{ role: "user", content: "Hi." }] as const;
  await runToolLoop(addWatchers({ provider, messages, runId: "greeting" }, runLog({ to: join(folder, "run.jsonl") })));
  return folder;
}

describe("turnwright export", () => {
  it("writes a Markdown transcript next to the log and prints the transcript's path", async () => {
    const folder = await makeLog();
    const { exitCode, out } = await runCommand(folder, ["export", "run.jsonl", "--format", "markdown"]);
    expect([exitCode, out]).toEqual([0, [join(folder, "run.md")]]);
    expect(readFileSync(join(folder, "run.md"), "utf8")).toContain("Hello.");
  });

  it("writes a Chrome trace to the given path", async () => {
    const folder = await makeLog();
    const { exitCode, out } = await runCommand(folder, ["export", "run.jsonl", "-f", "chrome-trace", "-o", "trace.json"]);
    expect([exitCode, out]).toEqual([0, [join(folder, "trace.json")]]);
    const { traceEvents } = JSON.parse(readFileSync(join(folder, "trace.json"), "utf8")) as { traceEvents: { ph: string }[] };
    expect(traceEvents.some(({ ph }) => ph === "X")).toBe(true);
  });

  it.skipIf(process.platform !== "linux")("appends to a path that refers to an open file descriptor", async () => {
    const folder = await makeLog();
    const file = openSync(join(folder, "out.txt"), "a+");
    onTestFinished(() => closeSync(file));
    writeSync(file, "Before.\n");
    const path = `/proc/self/fd/${file}`;
    expect(await runCommand(folder, ["export", "run.jsonl", "-f", "markdown", "-o", path])).toMatchObject({
      exitCode: 0,
      out: [path],
    });
    expect(readFileSync(join(folder, "out.txt"), "utf8")).toMatch(/^Before\.\n[^]*Hello\./);
  });

  it.for<readonly [wrong: string, args: readonly string[], problem: string]>([
    ["a command without a log", ["--format", "markdown"], "`export` needs the path to a log."],
    ["a command without a format", ["run.jsonl"], "--format must be chrome-trace or markdown."],
    ["an unknown format", ["run.jsonl", "--format", "toString"], "--format must be chrome-trace or markdown."],
    ["a folder in place of a log", [".", "--format", "markdown"], "`export` needs a log, not a folder."],
  ])("exits with code 2 for %s", async ([, args, problem]) => {
    const folder = await makeLog();
    const { exitCode, notes } = await runCommand(folder, ["export", ...args]);
    expect([exitCode, notes[0]]).toEqual([2, `turnwright: ${problem} Run \`npx turnwright --help\` for help.`]);
  });
});
