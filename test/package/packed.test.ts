// The packed package, installed and used from outside.

import { spawnSync } from "node:child_process";
import { copyFileSync, readdirSync, readFileSync } from "node:fs";
import { join, posix, resolve } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { entries } from "../../scripts/entries.ts";
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

function compile(folder: string, parameters: readonly string[]): ReturnType<typeof run> {
  const tsc = resolve("node_modules/typescript/bin/tsc");
  return run(folder, [
    tsc,
    "--noEmit",
    "--strict",
    "--exactOptionalPropertyTypes",
    "--module",
    "node16",
    "--target",
    "es2022",
    ...parameters,
  ]);
}

describe("the packed package", () => {
  it("holds the build, the docs, the examples and nothing else", () => {
    const { files } = install([]);
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
    ]);
    expect(files.filter((path) => path.startsWith("docs/") && !path.endsWith(".md"))).toEqual([]);
    expect(files.filter((path) => path.startsWith("dist/") && !/\.(c?js|d\.c?ts)$/.test(path))).toEqual([]);
  });

  it("holds what its pages link to", () => {
    const { files } = install([]);
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

  it("names the license of each package that dist holds a copy of", () => {
    const built = readdirSync("dist").filter((file) => file.endsWith("js"));
    const copied = built.flatMap((file) => [
      ...readFileSync(join("dist", file), "utf8").matchAll(/^\/\/ node_modules\/([^/]+)\//gm),
    ]);
    const names = [...new Set(copied.map(([, name = ""]) => name))].sort();
    const notices = readFileSync("THIRD-PARTY-LICENSES.txt", "utf8");
    expect(names).toEqual(["eventemitter3", "p-timeout"]);
    for (const name of names) {
      const own = readdirSync(join("node_modules", name)).find((file) => /^license$/i.test(file)) ?? "";
      expect(notices).toContain(readFileSync(join("node_modules", name, own), "utf8").trim());
    }
  });

  it.for([
    ["esm.mjs", "ran as ESM"],
    ["cjs.cjs", "ran as CommonJS"],
  ] as const)("runs %s beside eventemitter3 alone", ([program, said]) => {
    const { folder } = install(["eventemitter3"]);
    expect(run(folder, [program])).toEqual({ status: 0, output: said });
  });

  it("types what users write, in an ES module and in CommonJS", () => {
    const { folder } = install(["eventemitter3", "openai", "zod", "@types/node"]);
    copyFileSync(join(folder, "types.ts"), join(folder, "program.mts"));
    copyFileSync(join(folder, "types.ts"), join(folder, "program.cts"));
    // Without the declarations of others: the SDK's alone take ten seconds.
    expect(compile(folder, ["--types", "node", "--skipLibCheck", "program.mts", "program.cts"])).toEqual({
      status: 0,
      output: "",
    });
  });

  it("has declarations without an error of their own", () => {
    const { folder } = install(["eventemitter3", "@opentelemetry/api"]);
    const declarations = entries.flatMap(({ name }) => [`${name}.d.ts`, `${name}.d.cts`]);
    const paths = declarations.map((name) => `node_modules/turnwright/dist/${name}`);
    expect(compile(folder, paths)).toEqual({ status: 0, output: "" });
  });
});
