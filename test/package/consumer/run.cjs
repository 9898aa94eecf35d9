// Uses each entry in its app, all as ES modules or all as CommonJS, and writes the results.

const Module = require("node:module");
const { readdirSync } = require("node:fs");
const { basename, join } = require("node:path");
const { pathToFileURL } = require("node:url");

const [, , system] = process.argv;

/** The packages that turnwright has required since this set was last cleared. */
const required = new Set();
const hook = "_load";
const loadModule = Module[hook];
Module[hook] = function (request, parent, ...rest) {
  const isOurs = /[\\/]node_modules[\\/]turnwright[\\/]/.test(parent?.filename ?? "");
  if (isOurs && !request.startsWith(".") && !Module.isBuiltin(request)) required.add(request);
  return loadModule.call(this, request, parent, ...rest);
};

/** How the program of an app loads packages: from the node_modules of that app. */
async function loaderOf(app) {
  const program = join(__dirname, "apps", app, `load.${system === "esm" ? "mjs" : "cjs"}`);
  const { load } = await (system === "esm" ? import(pathToFileURL(program).href) : require(program));
  return load;
}

/** Returns the package that is missing if only turnwright is installed, or undefined. */
async function findMissing(specifier) {
  const load = await loaderOf("bare");
  try {
    await load(specifier);
    return undefined;
  } catch (error) {
    return /Cannot find (?:module|package) '([^']+)'/.exec(String(error))?.[1] ?? String(error);
  }
}

/** Runs the exercise of an entry. Returns its error, or undefined. */
async function tryEntry(name, specifier) {
  const { exercise } = require(`./exercises/${name}.cjs`);
  const load = await loaderOf(name);
  const loaded = new Set();
  try {
    await exercise((wanted) => {
      loaded.add(wanted);
      return load(wanted);
    });
    return loaded.has(specifier) ? undefined : "The exercise does not load its entry.";
  } catch (error) {
    return String(error?.stack ?? error);
  }
}

async function main() {
  const results = {};
  for (const file of readdirSync(join(__dirname, "exercises"))) {
    const name = basename(file, ".cjs");
    const specifier = name === "index" ? "turnwright" : `turnwright/${name}`;
    required.clear();
    const failure = await tryEntry(name, specifier);
    const imports = [...required];
    results[specifier] = { imports, failure, missing: await findMissing(specifier) };
  }
  console.log(JSON.stringify({ version: process.version, results }));
}

void main();
