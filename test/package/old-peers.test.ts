// Tests the packed package together with older versions of its peers.

import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { type Installed, installPacked } from "./install-packed.ts";

interface Peer {
  readonly name: string;
  readonly version: string;
  readonly peerDependencies?: { readonly [name: string]: string };
}

/** Older versions of peers that apps still use, with the fields that npm reads to resolve peers. */
const older: readonly Peer[] = [
  { name: "zod", version: "3.25.76" },
  { name: "openai", version: "4.104.0", peerDependencies: { ws: "^8.18.0", zod: "^3.23.8" } },
  { name: "@anthropic-ai/sdk", version: "0.60.0" },
  { name: "@google/genai", version: "0.9.0" },
  { name: "ai", version: "4.3.19", peerDependencies: { react: "^18 || ^19 || ^19.0.0-rc", zod: "^3.23.8" } },
  { name: "@modelcontextprotocol/sdk", version: "0.6.1" },
  { name: "@modelcontextprotocol/client", version: "1.0.0" },
  { name: "@opentelemetry/api", version: "1.4.1" },
  { name: "@pydantic/genai-prices", version: "0.0.1" },
];

/** The last versions of the SDKs for Node 20, and the versions of the summer of 2026. */
const recent: readonly Peer[] = [
  { name: "openai", version: "6.49.0", peerDependencies: { ws: "^8.18.0", zod: "^3.25 || ^4.0" } },
  { name: "@anthropic-ai/sdk", version: "1.11.0", peerDependencies: { zod: "^3.25.0 || ^4.0.0" } },
  { name: "@google/genai", version: "2.32.0", peerDependencies: { "@modelcontextprotocol/sdk": "^1.25.2" } },
  { name: "ai", version: "6.0.326", peerDependencies: { zod: "^3.25.76 || ^4.1.8" } },
];

const optional = (peers: object): object => Object.fromEntries(Object.keys(peers).map((peer) => [peer, { optional: true }]));

describe("npm install", () => {
  const topmost = mkdtempSync(join(tmpdir(), "turnwright-peers-"));
  afterAll(() => rmSync(topmost, { recursive: true, force: true }));

  it.for([
    ["older versions of all its peers", older],
    ["the last SDK versions that support Node 20", recent],
  ] as const)("accepts the package together with %s", ([title, peers]) => {
    const folder = join(topmost, title.replaceAll(" ", "-"));
    mkdirSync(folder);
    const sources = peers.map(({ peerDependencies = {}, ...named }, index) => {
      const source = join(folder, `source${index}`);
      mkdirSync(source);
      const manifest = { ...named, peerDependencies, peerDependenciesMeta: optional(peerDependencies) };
      writeFileSync(join(source, "package.json"), JSON.stringify(manifest));
      return source;
    });
    const app = join(folder, "app");
    mkdirSync(app);
    writeFileSync(join(app, "package.json"), '{ "private": true }\n');
    const pack = ["pack", "--silent", "--ignore-scripts", "--pack-destination", app];
    execFileSync("npm", [...pack, "./node_modules/eventemitter3", ...sources]);
    const others = readdirSync(app)
      .filter((file) => file.endsWith(".tgz"))
      .map((file) => `./${file}`);
    const tarballs = [inject("packed").tarball, ...others];
    const flags = ["--offline", "--ignore-scripts", "--no-audit", "--no-fund", "--strict-peer-deps"];
    const { status, stderr } = spawnSync("npm", ["install", ...flags, ...tarballs], { cwd: app, encoding: "utf8" });
    expect([status, /npm error.*/g.exec(stderr)?.[0]]).toEqual([0, undefined]);
  });
});

describe("turnwright/observe with @opentelemetry/api before 1.3", () => {
  let installed: Installed;

  beforeAll(() => {
    installed = installPacked(["eventemitter3"]);
    const api = join(installed.folder, "node_modules/@opentelemetry/api");
    mkdirSync(api, { recursive: true });
    writeFileSync(join(api, "package.json"), '{ "name": "@opentelemetry/api", "version": "1.2.0", "main": "index.js" }');
    const names = ["context", "diag", "SpanKind", "SpanStatusCode", "trace"];
    writeFileSync(join(api, "index.js"), names.map((name) => `exports.${name} = {};`).join("\n"));
  });
  afterAll(() => installed.remove());

  it.for(["load.mjs", "load.cjs"])("throws an error that names the required version when imported by %s", (load) => {
    const program = `import("./${load}").then(({ load }) => load("turnwright/observe")).catch(({ message }) => console.log(message))`;
    const { stdout } = spawnSync(process.execPath, ["--eval", program], { cwd: installed.folder, encoding: "utf8" });
    expect(stdout).toMatch(/^"turnwright\/observe" needs @opentelemetry\/api 1\.3 or later\. Update it: /);
  });
});

describe("packed package with zod 3", () => {
  let installed: Installed;

  beforeAll(() => {
    installed = installPacked(["eventemitter3"]);
    symlinkSync(resolve("node_modules/zod-v3"), join(installed.folder, "node_modules/zod"), "junction");
  });
  afterAll(() => installed.remove());

  it.for(["config", "middleware"].flatMap((name) => ["load.mjs", "load.cjs"].map((load) => [name, load] as const)))(
    "turnwright/%s works when loaded by %s",
    ([name, load]) => {
      const program = `import("./${load}").then(({ load }) => require("./exercises/${name}.cjs").exercise(load))`;
      const { status, stderr } = spawnSync(process.execPath, ["--eval", program], { cwd: installed.folder, encoding: "utf8" });
      expect([status, stderr]).toEqual([0, ""]);
    },
  );
});
