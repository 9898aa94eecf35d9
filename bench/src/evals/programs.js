// Runs the suites of libraries that are programs of their own, and reads the files that they write.
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { cases, countNotes, trials } from "./script.js";

export const bench = fileURLToPath(new URL("../../", import.meta.url));

/** Returns the folder of a suite. */
export const suiteOf = (/** @type {string} */ library) => fileURLToPath(new URL(`suites/${library}`, import.meta.url));

/** A folder for the files of this process, which is removed at its end. */
export const scratch = mkdtempSync(join(tmpdir(), "bench-evals-"));
process.on("exit", () => rmSync(scratch, { recursive: true, force: true }));

let files = 0;
export const newPath = (/** @type {string} */ name) => join(scratch, `${(files += 1)}-${name}`);

/**
 * @typedef {{
 *   readonly output: string,
 *   readonly ms: number,
 *   readonly count: ReturnType<typeof countNotes>,
 * }} Ended What a program has written, its wall time, and how often the agent has noted something.
 */

/**
 * Runs a Node program to its end.
 *
 * @param {readonly string[]} args
 * @param {{ readonly cwd: string, readonly env?: Record<string, string> }} options
 * @returns {Promise<Ended>}
 */
export async function runProgram(args, { cwd, env = {} }) {
  const startedAt = performance.now();
  const notes = newPath("notes.txt");
  const child = start(args, cwd, { ...env, EVALS_NOTES: notes });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (output += text));
  await new Promise((resolve) => child.once("close", resolve));
  return { output, ms: performance.now() - startedAt, count: countNotes(notes) };
}

/**
 * Starts a program that watches files, changes one, and returns whether all trials run again.
 *
 * @param {readonly string[]} args
 * @param {string} cwd
 * @param {string} file
 */
export async function runsAgain(args, cwd, file) {
  const notes = newPath("notes.txt");
  const child = start(args, cwd, { EVALS_NOTES: notes });
  const all = cases.length * trials;
  try {
    if (!(await comes(notes, all))) return false;
    // The watcher must see a change after the end of the first run.
    await sleep(4_000);
    utimesSync(file, new Date(), new Date());
    return await comes(notes, 2 * all);
  } finally {
    child.kill();
  }
}

/** @param {string} notes @param {number} count */
async function comes(notes, count) {
  for (let tries = 0; tries < 100; tries += 1) {
    await sleep(200);
    try {
      if (countNotes(notes)("trial") >= count) return true;
    } catch {
      // The program has not noted anything so far.
    }
  }
  return false;
}

const sleep = (/** @type {number} */ ms) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * @param {readonly string[]} args
 * @param {string} cwd
 * @param {Record<string, string>} env
 */
function start(args, cwd, env) {
  const { GITHUB_ACTIONS: _, GITHUB_STEP_SUMMARY: __, ...rest } = process.env;
  return spawn(process.execPath, args, {
    cwd,
    env: { ...rest, NO_COLOR: "1", CI: "", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
}

/** Counts the lines of code in a folder, without empty lines and comments. @param {string} library */
export function countLines(library) {
  const folder = suiteOf(library);
  const lines = readdirSync(folder)
    .filter((name) => /\.[jt]s$/.test(name))
    .flatMap((name) => readFileSync(join(folder, name), "utf8").split("\n"));
  return String(lines.filter((line) => line.trim() !== "" && !line.trim().startsWith("//")).length);
}

/** Describes the files of a page. @param {string} path a file or a folder */
export function describePage(path) {
  const paths = statSync(path).isDirectory()
    ? readdirSync(path, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name))
    : [path];
  const size = paths.reduce((sum, one) => sum + statSync(one).size, 0);
  const index = readFileSync(paths.find((one) => one.endsWith(".html")) ?? path, "utf8");
  // A browser loads no module and no data from the disk.
  const needsServer = /<(script|link)[^>]+(src|href)="[./]/.test(index);
  return `${paths.length} file${paths.length === 1 ? "" : "s"}, ${Math.round(size / 1_000)} KB, ${needsServer ? "needs a server" : "no server"}`;
}

/** @param {string} text */
export function describeMarkdown(text) {
  const named = cases.filter(({ id }) => text.includes(id)).length;
  return `${text.trim().split("\n").length} lines, ${named} cases named`;
}

/** Counts the packages that npm installs with a package, from the lock file. @param {readonly string[]} names */
export function countPackages(names) {
  const lock = JSON.parse(readFileSync(join(bench, "package-lock.json"), "utf8")).packages;
  const found = new Set();
  const visit = (/** @type {string} */ name, /** @type {string} */ from) => {
    const parts = from === "" ? [] : from.split("/node_modules/");
    // Looks for the package as Node does: in the folder of the package that needs it, then in those above.
    const places = parts.map((_, index) => `${parts.slice(0, parts.length - index).join("/node_modules/")}/node_modules/${name}`);
    const place = [...places, `node_modules/${name}`].find((one) => lock[one] !== undefined);
    if (place === undefined || found.has(place)) return;
    found.add(place);
    for (const needed of Object.keys(lock[place].dependencies ?? {})) visit(needed, place);
  };
  for (const name of names) visit(name, "");
  return String(found.size);
}

export const seconds = (/** @type {number} */ ms) => `${(ms / 1_000).toFixed(1)} s`;

/** Reads the number of tests from a JUnit file. @param {string} xml */
export const testsOf = (xml) => `${/<testsuites[^>]* tests="(\d+)"/.exec(xml)?.[1]} tests`;
