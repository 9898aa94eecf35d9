// Creates each project of `npx turnwright create` with the packed package, and does what its README says: start it, test it, check
// its types. The packages of the templates come from the npm registry, once for all templates, and are kept in .cache.

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
import { join, resolve } from "node:path";
import { transformSync } from "esbuild";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { templates } from "../../src/cli/create-command.ts";
import { readJson } from "../../scripts/read-json.ts";

type Versions = Readonly<Record<string, string>>;

interface Manifest {
  readonly dependencies: Versions;
  readonly devDependencies: Versions;
  readonly allowScripts?: object;
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

/** Installs what all projects need together, so that npm also reports versions that exclude each other. */
function installTogether(): string {
  const manifests = [...names.map((name) => join(apps, `my-${name}`)), own].map((folder) =>
    readJson<Manifest>(join(folder, "package.json")),
  );
  const [last] = manifests.slice(-1);
  const { turnwright: _own, ...dependencies }: Versions = Object.assign(
    {},
    ...manifests.slice(0, -1).flatMap((each) => [each.dependencies, each.devDependencies]),
    last?.dependencies,
  );
  const allowScripts: object = Object.assign({}, ...manifests.slice(0, -1).map((each) => each.allowScripts));
  const text = JSON.stringify({ private: true, dependencies, allowScripts });
  const kept = resolve(`.cache/create/${createHash("sha256").update(text).digest("hex").slice(0, 16)}`);
  if (existsSync(kept)) return join(kept, "node_modules");
  mkdirSync(".cache/create", { recursive: true });
  const part = mkdtempSync(resolve(".cache/create/part-"));
  chmodSync(part, 0o755); // as the folder above
  try {
    writeFileSync(join(part, "package.json"), text);
    // The gates set `ignore-scripts`, and the packages of Postgres need theirs.
    const flags = ["--ignore-scripts=false", "--no-audit", "--no-fund", "--prefer-offline", "--loglevel", "error"];
    execFileSync("npm", ["install", ...flags], {
      cwd: part,
      stdio: "pipe",
    });
    // A rename is atomic, so no other process sees half of the packages.
    renameSync(part, kept);
  } finally {
    rmSync(part, { recursive: true, force: true });
  }
  return join(kept, "node_modules");
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
