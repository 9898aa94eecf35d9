// Uses each published entry in a separate app, on each Node version. The app has only the peers that the docs name for this
// entry.

import { execFile } from "node:child_process";
import { linkSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { build, type Metafile } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { entries } from "../../scripts/entries.ts";
import { readJson } from "../../scripts/read-json.ts";
import { exercises } from "./exercises.ts";
import { findNodes } from "./find-nodes.ts";
import { type Installed, installPacked, linkPackages } from "./install-packed.ts";

interface Manifest {
  readonly engines: object;
  readonly dependencies: object;
  readonly optionalDependencies?: object;
  readonly peerDependencies: object;
  readonly peerDependenciesMeta: { readonly [peer: string]: { readonly optional?: boolean } | undefined };
}

interface Report {
  readonly version: string;
  readonly results: { readonly [specifier: string]: object | undefined };
}

const dist = "node_modules/turnwright/dist";
const run = promisify(execFile);
const manifest = readJson<Manifest>("package.json");
const nodes = findNodes();

const builtFiles = exercises.flatMap(({ name }) => [`dist/${name}.js`, `dist/${name}.cjs`]);

/** The imports of each built file. */
let inputs: Metafile["inputs"] = {};

beforeAll(async () => {
  const { metafile } = await build({
    entryPoints: builtFiles.map((file) => ({ in: file, out: file })),
    outdir: "out",
    bundle: true,
    splitting: true,
    format: "esm",
    write: false,
    metafile: true,
    platform: "neutral",
    packages: "external",
    logLevel: "silent",
  });
  ({ inputs } = metafile);
});

/** Includes dynamic imports, and the imports of the built files that this file loads. */
function findImports(file: string): readonly string[] {
  const files = new Set([file]);
  const found = new Set<string>();
  for (const each of files)
    for (const { path, external } of inputs[each]?.imports ?? []) (external === true ? found : files).add(path);
  return [...found].sort();
}

it("packed package: each entry is used by a test program", () => {
  expect(exercises.map(({ specifier }) => specifier).sort()).toEqual(entries.map(({ specifier }) => specifier).sort());
});

describe("package.json", () => {
  it("does not require any SDK to be installed", () => {
    expect(Object.keys(manifest.dependencies)).toEqual(["eventemitter3"]);
    expect(manifest.optionalDependencies).toBeUndefined();
    const forced = Object.keys(manifest.peerDependencies).filter(
      (peer) => manifest.peerDependenciesMeta[peer]?.optional !== true,
    );
    expect(forced).toEqual([]);
  });

  it("lists each peer dependency that an entry imports", () => {
    const imported = exercises.flatMap(({ imports }) => imports);
    expect(imported.filter((name) => !(name in manifest.peerDependencies))).toEqual([]);
  });
});

describe.for(exercises)("the built entry $specifier", ({ specifier, name, imports }) => {
  it.for(["js", "cjs"])("imports only its own peer dependencies in the .%s file", (ending) => {
    const found = findImports(`dist/${name}.${ending}`);
    expect(found.filter((path) => !path.startsWith("node:"))).toEqual(imports);
    const needsNode = [
      "turnwright/cache",
      "turnwright/conversation",
      "turnwright/dbos",
      "turnwright/evals",
      "turnwright/host",
      "turnwright/inspect",
      "turnwright/journal",
      "turnwright/restate",
      "turnwright/testing",
    ].includes(specifier);
    expect(found.some((path) => path.startsWith("node:"))).toBe(needsNode);
  });
});

describe("an app with the packed package", () => {
  let installed: Installed;

  beforeAll(() => {
    installed = installPacked(["eventemitter3"]);
    for (const { name, imports, beside } of [...exercises, { name: "bare", imports: [], beside: [] }]) {
      const app = join(installed.folder, "apps", name);
      mkdirSync(join(app, dist), { recursive: true });
      const loadable = readdirSync(join(installed.folder, dist)).filter((file) => !file.endsWith("ts"));
      const built = loadable.map((file) => join(dist, file));
      // Links take less time than copies. A link to the whole folder is not possible, because Node would look for peers next to the
      // real folder.
      for (const path of ["node_modules/turnwright/package.json", "load.mjs", "load.cjs", ...built]) {
        linkSync(join(installed.folder, path), join(app, path));
      }
      linkPackages(app, [...imports, ...beside]);
    }
  });

  afterAll(() => installed.remove());

  describe.for(nodes.filter((node) => node.kind === "found"))("on Node $major", ({ major, program }) => {
    describe.for(["esm", "cjs"])("as %s", (system) => {
      let report: Report;

      beforeAll(async () => {
        const { stdout } = await run(program, ["run.cjs", system], { cwd: installed.folder, timeout: 60_000 });
        report = JSON.parse(stdout);
      });

      it("runs on the expected Node version", () => {
        expect(report.version).toMatch(new RegExp(`^v${major}\\.`));
      });

      it.for(exercises)("$specifier works with its own peer dependencies and loads no SDK", ({ specifier, imports }) => {
        expect(report.results[specifier]).toEqual({
          // Imports of ES modules cannot be observed. But if an entry loads in an app without the SDK, it does not import the SDK.
          imports: system === "cjs" ? imports : [],
          // For an entry without peers, no package can be missing.
          ...(imports[0] === undefined ? {} : { missing: imports[0] }),
        });
      });
    });
  });

  // The test title gives the reason. With TURNWRIGHT_NODES=required, `findNodes` throws if a Node version cannot be downloaded.
  it.for(nodes.filter((node) => node.kind === "absent"))("is not tested on Node $major because $why", ({ why }) => {
    expect(["this is not Linux with glibc on x64", "the npm registry is out of reach"]).toContain(why);
  });
});

it("findNodes: lists Node 20, 22 and 24", () => {
  expect(nodes.map(({ major }) => major)).toEqual(expect.arrayContaining([20, 22, 24]));
});
