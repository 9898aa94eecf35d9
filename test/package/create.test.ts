// Creates each project of `npx turnwright create` with the packed package, and does what its README says: start it, test it, check
// its types. npm resolves what the templates need, and the packages themselves are those of this repository.

import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { transformSync } from "esbuild";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { templates } from "../../src/cli/create-command.ts";
import { readJson } from "../../scripts/read-json.ts";

type Versions = Readonly<Record<string, string>>;

interface Manifest {
  readonly dependencies: Versions;
  readonly devDependencies: Versions;
}

const root = mkdtempSync(join(tmpdir(), "turnwright-create-"));
const apps = join(root, "apps");
const own = join(apps, "node_modules/turnwright");
const offline = join(root, "offline.mjs");
const names = Object.keys(templates) as (keyof typeof templates)[];

beforeAll(() => {
  // As root, Postgres runs as another user, who must be able to enter this folder. Its data is there too.
  chmodSync(root, 0o755);
  mkdirSync(join(apps, "node_modules"), { recursive: true });
  execFileSync("tar", ["-xzf", inject("packed").tarball, "-C", "node_modules"], { cwd: apps });
  renameSync(join(apps, "node_modules/package"), own);
  for (const name of names)
    execFileSync(process.execPath, [join(own, "dist/cli.js"), "create", name, `my-${name}`], { cwd: apps });
  symlinkSync(installTogether(), join(root, "node_modules"), "junction");
  writeFileSync(offline, transformSync(readFileSync("scripts/forbid-network.ts", "utf8"), { loader: "ts" }).code);
}, 300_000);
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** Links what all projects need. Returns the folder of the packages. */
function installTogether(): string {
  const projects = names.map((name) => readJson<Manifest>(join(apps, `my-${name}`, "package.json")));
  const needed = projects
    .flatMap((project) => Object.entries({ ...project.dependencies, ...project.devDependencies }))
    .filter(([name]) => name !== "turnwright")
    .concat(Object.entries(readJson<Manifest>(join(own, "package.json")).dependencies));
  const found = new Map(needed.map(([name, version]) => [name, findHere(name, version)]));
  const dependencies = Object.fromEntries(needed);
  resolveTogether(JSON.stringify({ private: true, dependencies }));
  const folder = join(root, "packages");
  mkdirSync(join(folder, ".bin"), { recursive: true });
  for (const [name, here] of found) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    symlinkSync(resolve("node_modules", here), join(folder, name), "junction");
  }
  // The only program that the scripts of the projects name.
  symlinkSync(resolve("node_modules/.bin/tsx"), join(folder, ".bin/tsx"));
  return folder;
}

/** Lets npm report versions that exclude each other or do not exist. It takes a fifth of the time of an installation. */
function resolveTogether(manifest: string): void {
  const kept = resolve(`.cache/create/${createHash("sha256").update(manifest).digest("hex").slice(0, 16)}.json`);
  if (existsSync(kept)) return;
  const folder = join(root, "resolved");
  mkdirSync(folder);
  writeFileSync(join(folder, "package.json"), manifest);
  const flags = ["--package-lock-only", "--no-audit", "--no-fund", "--prefer-offline", "--loglevel", "error"];
  execFileSync("npm", ["install", ...flags], { cwd: folder, stdio: "pipe" });
  mkdirSync(dirname(kept), { recursive: true });
  writeFileSync(kept, readFileSync(join(folder, "package-lock.json")));
}

/** The folder in node_modules that has this version of a package. Some packages are there in several versions, under other names. */
function findHere(name: string, version: string): string {
  const { dependencies, devDependencies } = readJson<Manifest>("package.json");
  const all = { ...devDependencies, ...dependencies };
  const found = Object.keys(all).find((folder) => all[folder] === `npm:${name}@${version}`);
  if (found === undefined && all[name] !== version)
    throw new Error(`A template needs ${name}@${version}. Add the same version to the devDependencies of this repository.`);
  return found ?? name;
}

interface Program {
  readonly child: ChildProcess;
  readonly ended: Promise<number | null>;
  /** Resolves with everything that the program has written, when it contains the pattern. */
  until(pattern: RegExp): Promise<string>;
}

function start(name: string, script: readonly string[], input?: string): Program {
  const { OPENAI_API_KEY: _a, ANTHROPIC_API_KEY: _b, DATABASE_URL: _c, TURNWRIGHT_POSTGRES_URL: _d, ...env } = process.env;
  const child = spawn("npm", script, {
    cwd: join(apps, `my-${name}`),
    // A group of its own: a signal for the group reaches the program behind npm, as Ctrl+C does.
    detached: true,
    env: { ...env, PORT: "0", TMPDIR: root, NODE_OPTIONS: `--import=${offline}`, npm_config_update_notifier: "false" },
  });
  let written = "";
  const add = (chunk: Buffer): void => {
    written += chunk.toString("utf8");
    child.emit("written");
  };
  child.stdout.on("data", add);
  child.stderr.on("data", add);
  child.stdin.end(input);
  const ended = new Promise<number | null>((settle) => child.on("close", settle));
  const until = (pattern: RegExp): Promise<string> =>
    new Promise((found, reject) => {
      const look = (): void => (pattern.test(written) ? found(written) : undefined);
      child.on("written", look);
      void ended.then((code) => reject(new Error(`${name} ended with ${code}:\n${written}`)));
      look();
    });
  return { child, ended, until };
}

function endGroup({ child }: Program, signal: NodeJS.Signals): void {
  if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, signal);
}

/** Each program that `npm start` runs, and what it must do without a key and without a network. */
const starts: { readonly [Name in keyof typeof templates]: () => Promise<void> } = {
  "chat-page": async () => {
    const server = start("chat-page", ["start"]);
    const [, url = ""] = /(http:\/\/localhost:\d+)/.exec(await server.until(/localhost:\d+/)) ?? [];
    expect(await (await fetch(url)).text()).toContain('<main id="root">');
    expect((await (await fetch(`${url}/page.js`)).text()).length).toBeGreaterThan(100_000);
    endGroup(server, "SIGTERM");
    await server.ended;
  },
  "terminal-agent": async () => {
    const agent = start("terminal-agent", ["start"], "What is here?\n");
    await agent.until(/\[list_files\][\s\S]*"README\.md"/);
    expect(await agent.ended).toBe(0);
  },
  bot: async () => {
    const bot = start("bot", ["start"], "Roll.\n");
    await bot.until(/bot: You rolled \[\d,\d\]\./);
    expect(await bot.ended).toBe(0);
  },
  worker: async () => {
    const worker = start("worker", ["start"]);
    try {
      await worker.until(/report-\d+: completed/);
    } finally {
      endGroup(worker, "SIGINT");
      await worker.ended;
    }
  },
  "tool-tests": async () => {
    const run = start("tool-tests", ["start"], "");
    await run.until(/Table 7 is yours\./);
    expect(await run.ended).toBe(0);
  },
};

it.for(names)("npx turnwright create %s: starts offline", (name) => starts[name]());

it.for(names)("npx turnwright create %s: passes its own tests", async (name) => {
  const tests = start(name, ["test"]);
  await tests.until(/fail 0$/m);
  expect(await tests.ended).toBe(0);
});

// All projects have the same options, so one compiler checks them in a fraction of the time.
it("npx turnwright create: the created projects compile", () => {
  const config = readJson<object>(join(apps, "my-bot/tsconfig.json"));
  writeFileSync(join(apps, "tsconfig.json"), JSON.stringify({ ...config, include: ["*/src", "*/test"] }));
  const { stdout } = spawnSync(process.execPath, [join(root, "node_modules/typescript/bin/tsc")], {
    cwd: apps,
    encoding: "utf8",
  });
  expect(stdout).toBe("");
});
