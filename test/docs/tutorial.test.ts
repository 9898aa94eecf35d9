// The programs of the tutorial print what its pages show. The programs of one page run in order, in a folder of their own.

import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { programLoader } from "../../scripts/program-loader.ts";
import { readPage } from "./read-page.ts";

const pages = readdirSync(new URL("../../docs/tutorial", import.meta.url)).sort();
const programs = readdirSync(new URL("../../examples/tutorial", import.meta.url)).map((name) => `examples/tutorial/${name}`);
const shown = /^<!-- output of (?<program>\S+)(?<words>.*) -->\n```text\n(?<output>[\s\S]*?)^```$/gm;

interface Shown {
  readonly program: string;
  readonly words: readonly string[];
  readonly output: string;
}

function readShown(page: string): readonly Shown[] {
  return Array.from(readPage(`docs/tutorial/${page}`).matchAll(shown), ({ groups = {} }) => {
    const { program = "", words = "", output = "" } = groups;
    return { program, words: words.split(" ").filter((word) => word !== ""), output };
  });
}

/** Resolves to the standard output, even of a program that is killed. Of a test report, it has the titles only. */
function run({ program, words }: Shown, folder: string): Promise<string> {
  const parameters = ["--test-reporter=spec", "--import", programLoader(), resolve(program), ...words];
  return new Promise((settle) => {
    const env = { PATH: process.env["PATH"], NO_COLOR: "1" };
    execFile(process.execPath, parameters, { cwd: folder, env, timeout: 60_000 }, (_error, stdout) =>
      settle(stdout.replaceAll(/^ℹ .*\n/gm, "").replaceAll(/ \(\d[\d.]*ms\)$/gm, "")),
    );
  });
}

it.for(pages)("docs/tutorial/%s shows the output of its programs", async (page) => {
  const folder = mkdtempSync(join(tmpdir(), "tutorial-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const wanted = readShown(page);
  expect(wanted).not.toEqual([]);
  const printed: string[] = [];
  for (const one of wanted) printed.push(await run(one, folder));
  expect(printed).toEqual(wanted.map(({ output }) => output));
});

it("docs/tutorial: the provider for a real model completes a run", async () => {
  expect(await run({ program: "examples/tutorial/go-live.ts", words: [], output: "" }, ".")).toBe("completed\n");
});

it("docs/tutorial: each program in examples/tutorial appears on a page", () => {
  const text = pages.map((page) => readPage(`docs/tutorial/${page}`)).join("\n");
  expect(programs.filter((program) => !text.includes(`<!-- from ${program}`))).toEqual([]);
});
