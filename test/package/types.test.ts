import { execFile } from "node:child_process";
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { promisify } from "node:util";
import ts from "typescript";
import { afterAll, describe, expect, it } from "vitest";
import { entries } from "../../scripts/entries.ts";
import { exercises } from "./exercises.ts";
import { type Installed, installPacked } from "./install-packed.ts";

const run = promisify(execFile);
const programs = readdirSync("test/package/consumer/types").map((file) => basename(file, ".ts"));
const imported = exercises.flatMap(({ imports }) => imports);
const beside = exercises.flatMap((exercise) => exercise.beside);
const installs: Installed[] = [];

function install(packages: readonly string[]): string {
  const installed = installPacked([...new Set(["eventemitter3", ...packages])]);
  installs.push(installed);
  return installed.folder;
}

afterAll(() => {
  for (const installed of installs) installed.remove();
});

/** TypeScript 7 takes a fraction of the time of TypeScript 6, whose errors differ in details. Each of them compiles a part. */
type Compiler = "typescript" | "typescript-7";

async function compile(compiler: Compiler, folder: string, parameters: readonly string[]): Promise<string> {
  const flags = ["--noEmit", "--strict", "--exactOptionalPropertyTypes", "--target", "es2022", ...parameters];
  const said = run(process.execPath, [resolve(`node_modules/${compiler}/bin/tsc`), ...flags], { cwd: folder });
  return said.then(
    ({ stdout }) => stdout,
    (error: { readonly stdout: string; readonly message: string }) => error.stdout || error.message,
  );
}

function functionsOf(name: string): readonly string[] {
  const lines = readFileSync(`test/package/surface/${name}.txt`, "utf8").matchAll(/^function (.+)$/gm);
  return Array.from(lines, ([, called = ""]) => called);
}

describe.concurrent("published types", () => {
  it("are used by a test program for each entry", () => {
    expect([...programs].sort()).toEqual(entries.map(({ name }) => name).sort());
  });

  it.for<[resolution: string, module: string, compiler: Compiler, endings: readonly string[]]>([
    ["node16", "node16", "typescript", [".mts", ".cts"]],
    ["bundler", "preserve", "typescript-7", [".ts"]],
  ])("compile in user programs with %s resolution", async ([resolution, module, compiler, endings]) => {
    const folder = install([...imported, ...beside, "@types/node"]);
    const files = endings.flatMap((ending) =>
      programs.map((name) => {
        const file = `${name}${ending}`;
        copyFileSync(join(folder, "types", `${name}.ts`), join(folder, file));
        return file;
      }),
    );
    // Skips the declaration files of other packages, because checking those of the SDKs takes ten seconds.
    const flags = ["--module", module, "--moduleResolution", resolution, "--types", "node", "--skipLibCheck"];
    expect(await compile(compiler, folder, [...flags, ...files])).toBe("");
  });

  // An entry exports the types of what its functions return. Programs derive all other types.
  it("let a program's declarations name each function's return type", async () => {
    const folder = install([...imported, ...beside, "@types/node"]);
    const lines = entries.flatMap(({ name, specifier }, index) => [
      `import * as entry${index} from "${specifier}";`,
      ...functionsOf(name).map(
        (called) =>
          `export const ${called}${index} = entry${index}.${called}(...(undefined as unknown as Given<typeof entry${index}.${called}>));`,
      ),
    ]);
    lines.push("type Given<F extends (...args: never) => unknown> = [Parameters<F>] extends [never] ? [] : Parameters<F>;");
    writeFileSync(join(folder, "all.mts"), lines.join("\n"));
    const flags = ["--module", "node16", "--types", "node", "--skipLibCheck", "--declaration"];
    expect(await compile("typescript-7", folder, [...flags, "all.mts"])).toBe("");
  });

  it("are found by node10 resolution, which ignores exports", () => {
    const folder = install([]);
    const { options } = ts.convertCompilerOptionsFromJson({ moduleResolution: "node10" }, folder);
    const found = entries.map(({ specifier }) => {
      const { resolvedModule } = ts.resolveModuleName(specifier, join(folder, "a.ts"), options, ts.sys);
      return resolvedModule && basename(resolvedModule.resolvedFileName);
    });
    expect(found).toEqual(entries.map(({ name }) => `${name}.d.cts`));
  });

  it("compile without any SDK", async () => {
    const folder = install(imported);
    const declarations = entries.flatMap(({ name }) => [`${name}.d.ts`, `${name}.d.cts`]);
    const paths = declarations.map((name) => `node_modules/turnwright/dist/${name}`);
    expect(await compile("typescript-7", folder, ["--module", "node16", ...paths])).toBe("");
  });
});
