// A program that imports an entry without `turnwright` reads what is wrong with an option, not JSON.

import { execFileSync, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Installed, installPacked } from "./install-packed.ts";

let installed: Installed;
beforeAll(() => void (installed = installPacked(["eventemitter3"])));
afterAll(() => installed.remove());

function run(format: "module" | "commonjs", program: string): string {
  const flags = [`--input-type=${format}`];
  return execFileSync(process.execPath, flags, { cwd: installed.folder, input: program, encoding: "utf8" }).trim();
}

const calls = [
  ["testing", "createMockProvider", "[], { recrod: true }", 'There is no option "recrod". Did you mean "record"?'],
  [
    "testing",
    "strictService",
    '"openai"',
    /^Option "kind" is "openai", but must be one of .*"openai-chat", "openai-responses".*\.$/,
  ],
  ["conversation", "createConversation", "{ id: 7 }", /^Option "id" is .*, but must be a string of 1 to 200 characters/],
  ["host", "createRunHost", "{ keepRun: 1 }", 'There is no option "keepRun". Did you mean "keepRuns"?'],
  ["journal", "fileJournal", '"a.jsonl", { fsnc: true }', 'There is no option "fsnc". Did you mean "fsync"?'],
  ["inspect", "runLog", "{ too: 1 }", 'There is no option "log.too". Did you mean "log.to"?'],
  ["evals", "defineEvaluation", "{ nme: 1 }", /^There is no option ".*nme"/],
] as const;

it.for(calls)("turnwright/%s alone: the error from %s(%s) says what is wrong", ([entry, name, args, expected]) => {
  const call = `try { ${name}(${args}); } catch (error) { console.log(error.message); }`;
  const specifier = `"turnwright/${entry}"`;
  const said = [
    run("module", `import { ${name} } from ${specifier}; ${call}`),
    run("commonjs", `const { ${name} } = require(${specifier}); ${call}`),
  ];
  for (const message of said) expect(message).toMatch(expected);
});

it("turnwright eval shows the full text of an error except for its credentials", () => {
  const error = "provider-error: The key sk-ant-api03-abcdefghijklmnop is wrong";
  const evaluation = `export const a = { name: "a", cases: [{ id: "a" }], run() { throw new Error("${error}"); }, check: () => true };`;
  writeFileSync(join(installed.folder, "a.eval.mjs"), evaluation);
  const command = join(installed.folder, "node_modules/turnwright/dist/cli.js");
  const { stdout, stderr } = spawnSync(process.execPath, [command, "eval", "a.eval.mjs"], {
    cwd: installed.folder,
    encoding: "utf8",
  });
  expect(stdout + stderr).toContain("provider-error: The key [redacted] is wrong");
});
