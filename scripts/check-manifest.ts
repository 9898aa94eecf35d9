// Checks that package.json and package-lock.json match the rest of the repository. `--write` writes the exports into
// package.json.

import { writeFileSync } from "node:fs";
import { entries } from "./entries.ts";
import { readJson } from "./read-json.ts";
import { reportProblems } from "./report-problems.ts";

type Versions = Readonly<Record<string, string>>;

interface Manifest {
  readonly main?: unknown;
  readonly types?: unknown;
  readonly typesVersions?: unknown;
  readonly exports?: unknown;
  readonly devDependencies: Versions;
}

interface Lock {
  readonly packages: Readonly<Record<string, { readonly resolved?: string; readonly optionalDependencies?: Versions }>>;
}

const manifest = readJson<Manifest>("package.json");
const lock = readJson<Lock>("package-lock.json");

function wantedExports(): Readonly<Record<string, unknown>> {
  const conditions = entries.map(({ subpath, name }): [string, unknown] => [
    subpath,
    {
      import: { types: `./dist/${name}.d.ts`, default: `./dist/${name}.js` },
      require: { types: `./dist/${name}.d.cts`, default: `./dist/${name}.cjs` },
    },
  ]);
  return { ...Object.fromEntries(conditions), "./package.json": "./package.json" };
}

/** The resolution `node10` of TypeScript ignores `exports`. It uses these fields instead. */
const fieldsOfNode10 = {
  main: "./dist/index.cjs",
  types: "./dist/index.d.cts",
  typesVersions: { "*": { "dist/*": ["./dist/*"], "*": ["./dist/*.d.cts"] } },
};

function exportProblems(): readonly string[] {
  const wanted = { ...fieldsOfNode10, exports: wantedExports() };
  const { main, types, typesVersions, exports } = manifest;
  if (JSON.stringify({ main, types, typesVersions, exports }) === JSON.stringify(wanted)) return [];
  if (!process.argv.includes("--write")) {
    return ['package.json: "exports" do not match the entries in tsconfig.json. Run `npm run entries`.'];
  }
  writeFileSync("package.json", `${JSON.stringify({ ...manifest, ...wanted }, null, 2)}\n`);
  return [];
}

/** Matches an exact version, even after an alias such as `npm:name@`. */
const pinned = /^(?:npm:(?:@[\w.-]+\/)?[\w.-]+@)?\d+\.\d+\.\d+(?:-[\w.]+)?$/;

function pinProblems(): readonly string[] {
  return Object.entries(manifest.devDependencies)
    .filter(([, version]) => !pinned.test(version))
    .map(([name, version]) => `package.json: pin ${name} to one version, not "${version}".`);
}

/** npm leaves out the binary of a platform that is not published yet. `npm ci` then rejects the lock file. */
function lockProblems(): readonly string[] {
  return Object.entries(lock.packages).flatMap(([path, { resolved, optionalDependencies = {} }]) => {
    const absent = Object.keys(optionalDependencies).filter(
      (name) => !(`node_modules/${name}` in lock.packages) && !(`${path}/node_modules/${name}` in lock.packages),
    );
    return [
      ...(resolved === undefined ? [] : [`package-lock.json: ${path} contains the URL of a registry. Remove it.`]),
      ...absent.map((name) => `package-lock.json: ${path} lacks ${name}. Use a version whose binaries are all published.`),
    ];
  });
}

reportProblems([...exportProblems(), ...pinProblems(), ...lockProblems()]);
