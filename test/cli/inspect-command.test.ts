import { chmodSync, lstatSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { runToolLoop } from "turnwright";
import { runLog } from "turnwright/inspect";
import { fileJournal } from "turnwright/journal";
import { createMockProvider, text } from "turnwright/testing";
import { findOpener } from "../../src/cli/process-io.ts";
import { makeCliFolder, runCommand } from "./run-command.ts";
import { addWatchers } from "../add-watchers.ts";

async function writeRun(folder: string, name: string): Promise<void> {
  const options = {
    provider: createMockProvider([text(`Hello from ${name}.`)]),
    messages: [{ role: "user", content: "Hi." }],
    runId: name,
    journal: fileJournal(join(folder, `${name}-journal.jsonl`), { fsync: false }),
  } as const;
  await runToolLoop(addWatchers(options, runLog({ to: join(folder, `${name}.jsonl`) })));
}

describe("turnwright inspect", () => {
  it("writes the page next to the log and opens the page", async () => {
    const folder = makeCliFolder();
    await writeRun(folder, "run");
    const { exitCode, out, opened } = await runCommand(folder, ["inspect", "run.jsonl"]);
    const url = pathToFileURL(join(folder, "run.html")).href;
    expect([exitCode, out, opened]).toEqual([0, [url], [url]]);
    expect(readFileSync(fileURLToPath(url), "utf8")).toContain("Hello from run.");
    expect(statSync(fileURLToPath(url)).mode & 0o777).toBe(0o600);
  });

  it("makes the page file private even if it replaces an existing file", async () => {
    const folder = makeCliFolder();
    await writeRun(folder, "run");
    const path = join(folder, "run.html");
    writeFileSync(path, "An old page.");
    chmodSync(path, 0o644);
    expect((await runCommand(folder, ["inspect", "run.jsonl"])).exitCode).toBe(0);
    expect([statSync(path).mode & 0o777, readFileSync(path, "utf8").includes("An old page.")]).toEqual([0o600, false]);
  });

  it("skips a damaged journal in a folder and prints the reason", async () => {
    const folder = makeCliFolder();
    await writeRun(folder, "run");
    const path = join(folder, "run-journal.jsonl");
    writeFileSync(path, readFileSync(path, "utf8").replace("Hello from", "Hallo from"));
    const { exitCode, notes } = await runCommand(folder, ["inspect", "."]);
    expect([exitCode, notes]).toEqual([0, [expect.stringMatching(/^Skipped run-journal\.jsonl: The journal .*[^.]\.$/)]]);
    expect(readFileSync(join(folder, "runs.html"), "utf8")).toContain('{"logs":[{"name":"run.jsonl","element":"log-0"}]}');
    writeFileSync(join(folder, "run.jsonl"), "");
    expect((await runCommand(folder, ["inspect", "."])).notes.at(-1)).toContain("turnwright: The folder has no logs.");
  });

  it("replaces a symbolic link at the page's path without changing the link's target", async () => {
    const folder = makeCliFolder();
    await writeRun(folder, "run");
    writeFileSync(join(folder, "victim.txt"), "Mine.");
    symlinkSync("victim.txt", join(folder, "run.html"));
    expect((await runCommand(folder, ["inspect", "run.jsonl"])).exitCode).toBe(0);
    expect(readFileSync(join(folder, "victim.txt"), "utf8")).toBe("Mine.");
    expect([lstatSync(join(folder, "run.html")).isFile(), readdirSync(folder).filter((name) => name.startsWith("."))]).toEqual([
      true,
      [],
    ]);
  });

  it("leaves no temporary file behind if a folder with the page's name exists", async () => {
    const folder = makeCliFolder();
    await writeRun(folder, "run");
    mkdirSync(join(folder, "run.html", "inner"), { recursive: true });
    const { exitCode, notes } = await runCommand(folder, ["inspect", "run.jsonl"]);
    expect([exitCode, notes[0]]).toEqual([1, expect.stringContaining("The file cannot be written: ")]);
    expect(readdirSync(folder).sort()).toEqual(["run-journal.jsonl", "run.html", "run.jsonl"]);
  });

  it.for<readonly [where: string, args: readonly string[], how: Parameters<typeof runCommand>[2]]>([
    ["with --no-open", ["--no-open"], {}],
    ["in CI", [], { env: { CI: "true" } }],
    ["without a terminal", [], { isTerminal: false }],
  ])("does not open a browser %s", async ([, args, how]) => {
    const folder = makeCliFolder();
    await writeRun(folder, "run");
    const { exitCode, opened } = await runCommand(folder, ["inspect", "run.jsonl", "-o", "page.html", ...args], how);
    expect([exitCode, opened, readFileSync(join(folder, "page.html"), "utf8").length > 1000]).toEqual([0, [], true]);
  });

  it("shows all logs and journals in a folder", async () => {
    const folder = makeCliFolder();
    await writeRun(folder, "a");
    writeFileSync(join(folder, "data.jsonl"), '{"hello":1}\n');
    mkdirSync(join(folder, "inner.jsonl"));
    const { exitCode, out, notes } = await runCommand(folder, ["inspect", "."]);
    expect([exitCode, out, notes]).toEqual([
      0,
      [pathToFileURL(join(folder, "runs.html")).href],
      ["Skipped data.jsonl: it is neither a run log nor a journal file."],
    ]);
    const page = readFileSync(join(folder, "runs.html"), "utf8");
    expect(page).toContain('{"logs":[{"name":"a-journal.jsonl","element":"log-0"},{"name":"a.jsonl","element":"log-1"}]}');
    expect(page).toContain('"from":"journal"');
  });

  it.for<readonly [what: string, args: readonly string[], exitCode: number, message: string]>([
    ["a missing file", ["inspect", "no.jsonl"], 1, "There is no file no.jsonl. Check the path."],
    ["a file that is not a log", ["inspect", "data.jsonl"], 1, "data.jsonl is neither a run log nor a journal file."],
    ["a damaged journal", ["inspect", "damaged.jsonl"], 1, "damaged.jsonl: The journal"],
    ["an empty folder", ["inspect", "empty"], 1, "The folder has no logs."],
    ["a page that cannot be written", ["inspect", "run.jsonl", "-o", "no/page.html"], 1, "The file cannot be written"],
    ["a command without a log", ["inspect"], 2, "`inspect` needs the path to a log. Run `npx turnwright --help`"],
    ["an unknown option", ["inspect", "run.jsonl", "--nope"], 2, "Unknown option '--nope'."],
    [
      "a port above 65535",
      ["inspect", "run.jsonl", "--live", "--port", "99999"],
      2,
      '--port is "99999", but must be a whole number from 0 to 65535',
    ],
    ["a port without --live", ["inspect", "run.jsonl", "--port", "80"], 2, "--port needs --live."],
    ["an unknown command", ["look"], 2, 'There is no command "look".'],
    ["an empty command line", [], 2, "There is no command."],
  ])("prints a message and writes no page for %s", async ([, args, exitCode, message]) => {
    const folder = makeCliFolder();
    await writeRun(folder, "run");
    mkdirSync(join(folder, "empty"));
    writeFileSync(join(folder, "data.jsonl"), '{"hello":1}\n');
    const journal = readFileSync(join(folder, "run-journal.jsonl"), "utf8");
    writeFileSync(join(folder, "damaged.jsonl"), journal.replace("Hello from", "Hallo from"));
    const end = await runCommand(folder, args);
    expect([end.exitCode, end.out, end.opened]).toEqual([exitCode, [], []]);
    expect(end.notes.join("\n")).toContain(`turnwright: ${message}`);
  });

  it("prints the help and the version", async () => {
    const help = await runCommand(".", ["--help"]);
    const usages = ["inspect <log...>", "export <log>", "rerun <log> --from i3"].map((usage) => `npx turnwright ${usage}`);
    expect([help.exitCode, usages.filter((usage) => !help.out.join("\n").includes(usage))]).toEqual([0, []]);
    expect(await runCommand(".", ["--version"])).toMatchObject({ exitCode: 0, out: ["1.2.3"] });
  });

  it.for([["inspect"], ["export"], ["rerun"]])('prints only the usage of one command for "%s --help"', async ([command = ""]) => {
    const { exitCode, out } = await runCommand(".", [command, "--help"]);
    const named = ["inspect", "export", "rerun"].filter((name) => out.join("\n").includes(`npx turnwright ${name} `));
    expect([exitCode, named, await runCommand(".", ["help", command])]).toMatchObject([0, [command], { out }]);
  });
});

describe("findOpener", () => {
  it.for(["linux", "darwin", "win32"] as const)("passes the URL as one argument on %s", (platform) => {
    const url = 'file:///tmp/a"&calc.exe;$(id).html';
    const { program, args } = findOpener(platform, url);
    expect([["xdg-open", "open", "rundll32"].includes(program), args.at(-1)]).toEqual([true, url]);
  });
});
