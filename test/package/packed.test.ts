import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, posix } from "node:path";
import { afterAll, describe, expect, inject, it } from "vitest";
import { type Installed, installPacked } from "./install-packed.ts";

const installs: Installed[] = [];

function install(beside: readonly string[]): Installed {
  const installed = installPacked(beside);
  installs.push(installed);
  return installed;
}

afterAll(() => {
  for (const installed of installs) installed.remove();
});

function run(folder: string, parameters: readonly string[]): { readonly status: number | null; readonly output: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, parameters, { cwd: folder, encoding: "utf8" });
  return { status, output: `${stdout}${stderr}`.trim() };
}

describe("packed package", () => {
  it("contains only the build, the docs and the examples", () => {
    const { files } = inject("packed");
    const topmost = new Set(files.map((path) => path.replace(/\/.*/, "")));
    expect([...topmost].sort()).toEqual([
      "LICENSE",
      "README.md",
      "THIRD-PARTY-LICENSES.txt",
      "dist",
      "docs",
      "examples",
      "llms.txt",
      "package.json",
      "skills",
    ]);
    expect(files.filter((path) => path.startsWith("docs/") && !path.endsWith(".md"))).toEqual([
      "docs/guides/long-runs.svg",
      "docs/guides/run-page-narrow.png",
      "docs/guides/run-page.png",
      "docs/overview.svg",
      "docs/promises/always-ends.svg",
      "docs/promises/goes-on.svg",
      "docs/promises/loses-nothing.svg",
      "docs/promises/says-why.svg",
      "docs/run-log.schema.json",
    ]);
    expect(files.filter((path) => path.startsWith("docs/sources/"))).toEqual([]);
    expect(files.filter((path) => path.startsWith("dist/") && !/\.(c?js|d\.c?ts)$/.test(path))).toEqual([]);
  });

  it("contains every file that the packed pages link to", () => {
    const { files } = inject("packed");
    const linked = files
      .filter((path) => path.endsWith(".md") || path === "llms.txt")
      .flatMap((page) =>
        Array.from(readFileSync(page, "utf8").matchAll(/\]\((?!https?:|#)([^)#\s]+)/g), ([, target = ""]) =>
          posix.join(posix.dirname(page), target),
        ),
      );
    expect(linked.length).toBeGreaterThan(100);
    const isThere = (target: string): boolean =>
      files.some((path) => path === target || path.startsWith(`${target.replace(/\/$/, "")}/`));
    expect(linked.filter((target) => !isThere(target))).toEqual([]);
  });

  it("names the license of each package bundled into dist", () => {
    const built = readdirSync("dist").filter((file) => file.endsWith("js"));
    const copied = built.flatMap((file) => [
      ...readFileSync(join("dist", file), "utf8").matchAll(/^\/\/ node_modules\/((?:@[^/]+\/)?[^/]+)\//gm),
    ]);
    const names = [...new Set(copied.map(([, name = ""]) => name))].sort();
    const notices = readFileSync("THIRD-PARTY-LICENSES.txt", "utf8");
    expect(names).toEqual([
      "@cfworker/json-schema",
      "eventemitter3",
      "fastest-levenshtein",
      "json-p3",
      "minisearch",
      "p-timeout",
      "re2js",
    ]);
    for (const name of names) {
      expect(notices).toContain(`---- ${name} ----`);
      // One of these packages declares a license without containing the license text.
      const own = readdirSync(join("node_modules", name)).find((file) => /^licen[cs]e$/i.test(file));
      if (own !== undefined) expect(notices).toContain(readFileSync(join("node_modules", name, own), "utf8").trim());
    }
  });

  it("has eventemitter3 as its only installed dependency", () => {
    const { folder } = install([]);
    const app = join(folder, "app");
    mkdirSync(app);
    writeFileSync(join(app, "package.json"), '{ "private": true }\n');
    // All packages are packed locally, so that npm needs no registry.
    const offline = ["--offline", "--ignore-scripts", "--no-audit", "--no-fund"];
    const pack = ["pack", "--silent", "--ignore-scripts", "--pack-destination", app];
    execFileSync("npm", [...pack, "./node_modules/eventemitter3"]);
    const others = readdirSync(app)
      .filter((file) => file.endsWith(".tgz"))
      .map((file) => `./${file}`);
    execFileSync("npm", ["install", ...offline, inject("packed").tarball, ...others], { cwd: app, stdio: "pipe" });
    const installed = readdirSync(join(app, "node_modules")).filter((name) => !name.startsWith("."));
    expect(installed).toEqual(["eventemitter3", "turnwright"]);
  });

  it("contains the `turnwright` program, which runs without other packages", () => {
    const { folder, files } = install(["eventemitter3"]);
    const program = join(folder, "node_modules", "turnwright", "dist", "cli.js");
    expect(files.filter((path) => path.startsWith("dist/cli."))).toEqual(["dist/cli.js"]);
    expect(readFileSync(program, "utf8").split("\n")[0]).toBe("#!/usr/bin/env node");
    const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { readonly version: string };
    expect(run(folder, [program, "--version"])).toEqual({ status: 0, output: version });
    expect(run(folder, [program, "look"])).toMatchObject({ status: 2 });
    writeFileSync(join(folder, "run.jsonl"), '{"type":"log","at":1,"version":1}\n');
    expect(run(folder, [program, "inspect", "run.jsonl"])).toMatchObject({
      status: 0,
      output: expect.stringMatching(/run\.html$/),
    });
    expect(readFileSync(join(folder, "run.html"), "utf8")).toContain('"name":"run.jsonl"');
  });

  it("accepts tools, registries, agents and journals from its other copy if ESM and CommonJS are both loaded", () => {
    const { folder } = install(["eventemitter3"]);
    expect(run(folder, ["copies.mjs"])).toEqual({ status: 0, output: "ran both copies" });
  });
});
