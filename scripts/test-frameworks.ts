// Builds and runs the routes of docs/guides/in-a-server.md in their frameworks, with the packed package: `npm run test:frameworks`, or
// `npm run test:frameworks -- next nuxt`. Needs a build (`npm run build`) and the npm registry. The frameworks are installed once, in
// a temporary folder.

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { setTimeout } from "node:timers/promises";
import { findNode } from "../test/package/find-nodes.ts";
import { reportProblems } from "./report-problems.ts";

const source = "examples/in-a-server/frameworks";

/** The folder in each project for chat.ts, which the page shows, and agent.ts. */
const projects = { hono: ".", workers: ".", next: ".", sveltekit: "src/lib", nuxt: "server/utils" } as const;

type Project = keyof typeof projects;

const node = findNode(22);
if (node.kind === "absent") throw new Error(`The frameworks need Node 22: ${node.why}.`);
const env = {
  ...process.env,
  PATH: `${dirname(node.program)}${delimiter}${process.env["PATH"] ?? ""}`,
  NEXT_TELEMETRY_DISABLED: "1",
  NUXT_TELEMETRY_DISABLED: "1",
};

function npm(folder: string, args: readonly string[]): void {
  execFileSync("npm", args, { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"], encoding: "utf8" });
}

/** Writes the project as a reader of the page does: with chat.ts as it is shown, and an import of their own provider and tools. */
function writeProject(name: Project, tarball: string): string {
  const manifest = readFileSync(join(source, name, "_package.json"), "utf8");
  const id = createHash("sha256").update(manifest).digest("hex").slice(0, 12);
  const folder = join(tmpdir(), "turnwright-frameworks", `${name}-${id}`);
  mkdirSync(folder, { recursive: true });
  cpSync(join(source, name), folder, { recursive: true, filter: (path) => !path.endsWith("_package.json") });
  writeFileSync(join(folder, "package.json"), manifest);
  const [, chat = ""] =
    /\/\/ #region chat\n([\s\S]*)\/\/ #endregion chat/.exec(readFileSync("examples/in-a-server/chat.ts", "utf8")) ?? [];
  mkdirSync(join(folder, projects[name]), { recursive: true });
  writeFileSync(join(folder, projects[name], "chat.ts"), `import { provider, tools } from "./agent";\n${chat}`);
  cpSync(join(source, "agent.ts"), join(folder, projects[name], "agent.ts"));
  if (!existsSync(join(folder, "node_modules"))) npm(folder, ["install", "--no-audit", "--no-fund", "--loglevel", "error"]);
  // Unpacked, not installed, so that the other packages stay as they are.
  const own = join(folder, "node_modules/turnwright");
  rmSync(own, { recursive: true, force: true });
  mkdirSync(own);
  execFileSync("tar", ["-xzf", tarball, "-C", own, "--strip-components", "1"]);
  cpSync("node_modules/eventemitter3", join(folder, "node_modules/eventemitter3"), { recursive: true });
  return folder;
}

function findFreePort(): Promise<number> {
  return new Promise((found, reject) => {
    const probe = createServer();
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => found(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}

interface Running {
  readonly url: string;
  readonly child: ChildProcess;
  output(): string;
}

async function start(folder: string): Promise<Running> {
  const port = await findFreePort();
  const child = spawn("npm", ["start"], { cwd: folder, detached: true, env: { ...env, PORT: String(port), HOST: "127.0.0.1" } });
  let written = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (written += chunk.toString("utf8")));
  const url = `http://127.0.0.1:${port}/api/chat`;
  for (let tries = 0; tries < 300; tries += 1) {
    if (child.exitCode !== null) throw new Error(`The server ended:\n${written}`);
    const isReady = await fetch(url).then(
      () => true,
      () => false,
    );
    if (isReady) return { url, child, output: () => written };
    await setTimeout(200);
  }
  throw new Error(`The server did not start:\n${written}`);
}

function post(url: string, body: string, signal?: AbortSignal): Promise<Response> {
  return fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body, ...(signal && { signal }) });
}

const ask = (id: string, text: string): string =>
  JSON.stringify({ id, messages: [{ id: "m", role: "user", parts: [{ type: "text", text }] }] });

function expectThat(isTrue: boolean, problem: string): void {
  if (!isTrue) throw new Error(problem);
}

async function check({ url, output }: Running): Promise<void> {
  const answer = await post(url, ask("a", "Do I need a coat in Oslo?"));
  const type = answer.headers.get("content-type") ?? "";
  const body = await answer.text();
  expectThat(answer.status === 200 && type.startsWith("text/event-stream"), `status ${answer.status}, ${type}: ${body}`);
  const said = Array.from(body.matchAll(/"delta":"([^"]*)"/g), ([, delta]) => delta).join("");
  expectThat(said === "Yes, take a coat.", `the answer is ${JSON.stringify(said)}: ${body}`);
  const wrong = await post(url, "{");
  expectThat(wrong.status === 400, `a wrong request has the status ${wrong.status}, not 400`);

  const countClosed = (): number => output().split("the model's stream is closed").length - 1;
  const before = countClosed();
  const page = new AbortController();
  const reader = (await post(url, ask("b", "Wait."), page.signal)).body?.getReader();
  const decoder = new TextDecoder();
  // The answer never ends, so this also shows that the text is not held back.
  for (let read = ""; !read.includes("One moment");) read += decoder.decode((await reader?.read())?.value, { stream: true });
  expectThat(countClosed() === before, "the run ended before the page left");
  page.abort();
  for (let tries = 0; countClosed() === before; tries += 1) {
    // A Worker notices it with the next comment that keeps the connection open, which is every 15 seconds.
    expectThat(tries < 200, `the run goes on after the page has left:\n${output()}`);
    await setTimeout(100);
  }
}

/** The page of the Next.js project has a form, and sends its messages to the route above. */
async function checkPage({ url }: Running): Promise<void> {
  const page = await (await fetch(new URL("/", url))).text();
  expectThat(page.includes("<form") && page.includes("Send"), `the page has no form: ${page}`);
}

/** In a Worker, entries that import Node modules load, a conversation answers, and keys are in `process.env`. */
function checkEntries(folder: string): void {
  const answer = execFileSync("node", ["entries.mjs"], { cwd: folder, env, encoding: "utf8", stdio: "pipe" });
  const wanted = { key: "sk-1", loaded: true, text: "Yes, take a coat.", removed: "removed" };
  expectThat(answer.trim().endsWith(JSON.stringify(wanted)), `the worker with all entries answers: ${answer}`);
}

async function test(name: Project, tarball: string): Promise<readonly string[]> {
  const startedAt = performance.now();
  let running: Running | undefined;
  try {
    const folder = writeProject(name, tarball);
    npm(folder, ["run", "build"]);
    if (name === "workers") checkEntries(folder);
    running = await start(folder);
    await check(running);
    if (name === "next") await checkPage(running);
    console.log(`✓ ${name.padEnd(10)}${((performance.now() - startedAt) / 1000).toFixed(1).padStart(6)} s`);
    return [];
  } catch (error) {
    const { stdout = "", stderr = "" } = error as { readonly stdout?: string; readonly stderr?: string };
    return [`${name}: ${error instanceof Error ? error.message : String(error)}\n${stdout}${stderr}`];
  } finally {
    if (running?.child.pid !== undefined) process.kill(-running.child.pid, "SIGTERM");
  }
}

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !Object.hasOwn(projects, name));
if (unknown.length > 0) throw new Error(`Unknown: ${unknown.join(", ")}. Use ${Object.keys(projects).join(", ")}.`);
const packing = join(tmpdir(), "turnwright-frameworks");
mkdirSync(packing, { recursive: true });
const packed: readonly { readonly filename: string }[] = JSON.parse(
  execFileSync("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", packing], { encoding: "utf8", stdio: "pipe" }),
);
const problems: string[] = [];
for (const name of Object.keys(projects) as Project[]) {
  if (wanted.length === 0 || wanted.includes(name))
    problems.push(...(await test(name, resolve(packing, packed[0]?.filename ?? ""))));
}
reportProblems(problems);
