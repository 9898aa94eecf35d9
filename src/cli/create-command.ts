// Implements `turnwright create`, which copies one of the starter projects in the package's examples/create folder.

import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import { CliError, type CliIO, messageOf, parseArguments, wrongUsage } from "./cli-io.ts";

export const templates = {
  "chat-page": "a page with React and useChat, and its server",
  "terminal-agent": "a terminal agent that works on the files in a folder",
  bot: "a chat room bot for Telegram",
  worker: "workers on Postgres that take over each other's jobs",
  "tool-tests": "two tools, with tests for the tools and for whole runs",
} as const;

type Template = keyof typeof templates;

const options = { name: { type: "string" } } as const;

export async function createProject(args: readonly string[], io: CliIO): Promise<void> {
  const { values, positionals } = parseArguments(args, options);
  const [given, path, ...others] = positionals;
  if (others.length > 0) throw wrongUsage("`create` takes one template and one folder.");
  const template = checkTemplate(given ?? (await askForTemplate(io)));
  const folder = resolve(io.cwd, path ?? template);
  const files = await readTemplate(template, io.packageFolder);
  const manifest = await toManifest(files, values.name ?? basename(folder), io.packageFolder);
  await refuseUsedFolder(folder, path ?? template);
  await writeFiles(folder, new Map([...files, ["package.json", manifest]]));
  showNextSteps(template, relative(io.cwd, folder), io);
}

const list = Object.entries(templates).map(([name, text]) => `  ${name.padEnd(15)} ${text}`);

async function askForTemplate(io: CliIO): Promise<string> {
  if (io.ask === undefined) throw wrongUsage(`\`create\` needs a template: ${Object.keys(templates).join(", ")}.`);
  io.out(`Templates:\n${list.join("\n")}`);
  const answer = (await io.ask("Which template? ")).trim();
  if (answer === "") throw wrongUsage("No template was chosen.");
  return answer;
}

function checkTemplate(name: string): Template {
  if (Object.hasOwn(templates, name)) return name as Template;
  throw wrongUsage(`There is no template "${name}". Choose one of these: ${Object.keys(templates).join(", ")}.`);
}

/** When npm packs the package, it omits files with these names or treats them as its own. The templates therefore use different names. */
const realNames: { readonly [name: string]: string | undefined } = {
  "_package.json": "package.json",
  "_tsconfig.json": "tsconfig.json",
  _gitignore: ".gitignore",
  "_env.example": ".env.example",
};

/** Returns the template's file contents by path. The template's own files replace files that all templates share. */
async function readTemplate(template: Template, packageFolder: string): Promise<ReadonlyMap<string, string>> {
  const files = new Map<string, string>();
  for (const root of ["shared", template].map((name) => join(packageFolder, "examples/create", name))) {
    for (const path of await readdir(root, { recursive: true })) {
      if (!(await stat(join(root, path))).isFile()) continue;
      const name = basename(path);
      files.set(join(dirname(path), realNames[name] ?? name), await readFile(join(root, path), "utf8"));
    }
  }
  return files;
}

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

async function toManifest(files: ReadonlyMap<string, string>, name: string, packageFolder: string): Promise<string> {
  const manifest = JSON.parse(files.get("package.json") ?? "{}") as Manifest;
  const own = JSON.parse(await readFile(join(packageFolder, "package.json"), "utf8")) as { readonly version: string };
  checkName(name, { ...manifest.dependencies, ...manifest.devDependencies });
  const dependencies = { ...manifest.dependencies, turnwright: own.version };
  return `${JSON.stringify({ ...manifest, name, dependencies }, null, 2)}\n`;
}

/** Throws if npm would refuse the name, because it is invalid or belongs to one of the package's own dependencies. */
function checkName(name: string, dependencies: Readonly<Record<string, string>>): void {
  const advice = "Choose a different folder, or pass a name with --name.";
  if (Object.hasOwn(dependencies, name))
    throw wrongUsage(`The project cannot be named "${name}" because it uses the package with that name. ${advice}`);
  const isValid = name.length <= 214 && /^(?:@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*$/.test(name);
  if (isValid && name !== "node_modules" && name !== "favicon.ico") return;
  throw wrongUsage(
    `"${name}" is not a valid package name: use lower-case letters, digits, "-", "." and "_", and begin with a letter or a digit. ${advice}`,
  );
}

async function refuseUsedFolder(folder: string, given: string): Promise<void> {
  let found: readonly string[];
  try {
    found = await readdir(folder);
  } catch (error) {
    const code: unknown = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOENT") return;
    if (code === "ENOTDIR") throw new CliError(`${given} is not a folder. Choose another path.`);
    throw new CliError(`${given} cannot be read: ${messageOf(error)}.`, 1, { cause: error });
  }
  // Accepts a folder that contains only `.git`.
  if (found.every((name) => name === ".git")) return;
  throw new CliError(`The folder ${given} is not empty, so nothing was written. Choose another folder.`);
}

async function writeFiles(folder: string, files: ReadonlyMap<string, string>): Promise<void> {
  try {
    for (const [path, text] of files) {
      const target = join(folder, path);
      await mkdir(dirname(target), { recursive: true });
      await writeFile(target, text, { flag: "wx" }); // The flag prevents the replacement of an existing file.
    }
  } catch (error) {
    throw new CliError(`The project was not written: ${messageOf(error)}.`, 1, { cause: error });
  }
}

function showNextSteps(template: Template, folder: string, io: CliIO): void {
  const [manager = "npm"] = /^(?:pnpm|yarn|bun)(?=\/)/.exec(io.env["npm_config_user_agent"] ?? "") ?? [];
  const goThere = folder === "" ? "" : `cd ${/\s/.test(folder) ? `"${folder}"` : folder} && `;
  io.out(`Created ${template}: ${templates[template]}.`);
  io.out(`\n  ${goThere}${manager} install && ${manager} start\n`);
  io.out("Without a key, a script plays the model. To go live, copy .env.example to .env and set a key.");
}
