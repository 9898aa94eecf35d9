import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { makeCliFolder, runCommand } from "./run-command.ts";

it("eval --against: loads workspace packages as they were at the commit", async () => {
  const folder = makeCliFolder();
  const git = (...args: readonly string[]): unknown =>
    execFileSync("git", ["-c", "user.name=Test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false", ...args], {
      cwd: folder,
    });
  git("init", "--quiet", "--initial-branch=main");
  writeFileSync(join(folder, ".gitignore"), ".turnwright\nnode_modules\n");
  const answer = join(folder, "packages/agent/answer.mjs");
  for (const place of ["packages/agent", "packages/evals", "node_modules/@me", "node_modules/installed"])
    mkdirSync(join(folder, place), { recursive: true });
  writeFileSync(join(folder, "packages/agent/package.json"), '{"name":"@me/agent","exports":"./answer.mjs"}');
  writeFileSync(join(folder, "node_modules/installed/package.json"), '{"name":"installed","exports":"./yes.mjs"}');
  writeFileSync(join(folder, "node_modules/installed/yes.mjs"), 'export const yes = "Yes.";');
  symlinkSync(join(folder, "packages/agent"), join(folder, "node_modules/@me/agent"), "junction");
  symlinkSync(join(folder, "packages/gone"), join(folder, "node_modules/@me/gone"), "junction");
  writeFileSync(answer, 'export { yes as answer } from "installed";');
  writeFileSync(
    join(folder, "packages/evals/a.eval.mjs"),
    'import { answer } from "@me/agent";\nexport default { name: "own", cases: [{ id: "a" }], run: () => answer, check: (said) => said === "Yes." };',
  );
  git("add", "--all");
  git("commit", "--quiet", "--message=first");
  writeFileSync(answer, 'export const answer = "No.";');
  const temporary = makeCliFolder();
  for (const name of ["TMPDIR", "TEMP", "TMP"]) vi.stubEnv(name, temporary);
  onTestFinished(() => void vi.unstubAllEnvs());
  const { exitCode, out } = await runCommand(join(folder, "packages/evals"), ["eval", "--against", "main"]);
  expect([exitCode, out.join("\n")]).toEqual([1, expect.stringMatching(/ a {2}worse {2}passed 1\/1 → failed 0\/1/)]);
  expect([readdirSync(temporary), existsSync(join(folder, "node_modules/installed/yes.mjs"))]).toEqual([[], true]);
});
