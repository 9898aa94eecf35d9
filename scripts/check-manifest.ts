// Holds package.json and package-lock.json to what the rest of the repository says. `--write` fills in the exports.

import { writeFileSync } from "node:fs";
import { entries } from "./entries.ts";
import { readJson } from "./read-json.ts";
import { reportProblems } from "./report-problems.ts";

type Versions = Readonly<Record<string, string>>;

interface Manifest {
  readonly exports?: unknown;
  readonly devDependencies: Versions;
}

interface Lock {
  readonly packages: Readonly<Record<string, { readonly resolved?: string; readonly optionalDependencies?: Versions }>>;
}

const manifest = readJson<Manifest>("package.json");
const lock = readJson<Lock>("package-lock.json");

/** The `exports` that the entries call for: types for `import` and for `require`, for each. */
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

function exportProblems(): readonly string[] {
  const wanted = wantedExports();
  if (JSON.stringify(manifest.exports) === JSON.stringify(wanted)) return [];
  if (!process.argv.includes("--write")) {
    return ['package.json: "exports" differ from the entries in tsconfig.json; `npm run entries` writes them.'];
  }
  writeFileSync("package.json", `${JSON.stringify({ ...manifest, exports: wanted }, null, 2)}\n`);
  return [];
}

/** One version, of the package itself or of one that is installed under another name. */
const pinned = /^(?:npm:(?:@[\w.-]+\/)?[\w.-]+@)?\d+\.\d+\.\d+$/;

function pinProblems(): readonly string[] {
  return Object.entries(manifest.devDependencies)
    .filter(([, version]) => !pinned.test(version))
    .map(([name, version]) => `package.json: pin ${name} to one version, not "${version}".`);
}

/** A binary that the registry did not have for some other platform is left out of the lock, and then `npm ci` refuses it all. */
function lockProblems(): readonly string[] {
  return Object.entries(lock.packages).flatMap(([path, { resolved, optionalDependencies = {} }]) => {
    const absent = Object.keys(optionalDependencies).filter(
      (name) => !(`node_modules/${name}` in lock.packages) && !(`${path}/node_modules/${name}` in lock.packages),
    );
    return [
      ...(resolved === undefined ? [] : [`package-lock.json: ${path} names a registry.`]),
      ...absent.map((name) => `package-lock.json: ${path} lacks ${name}; take a version whose binaries are all published.`),
    ];
  });
}

reportProblems([...exportProblems(), ...pinProblems(), ...lockProblems()]);
