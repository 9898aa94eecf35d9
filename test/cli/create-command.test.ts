import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { templates } from "../../src/cli/create-command.ts";
import { readJson } from "../../scripts/read-json.ts";
import { makeCliFolder, runCommand } from "./run-command.ts";

type Versions = Readonly<Record<string, string>>;

interface Manifest {
  readonly name: string;
  readonly version?: string;
  readonly dependencies: Versions;
  readonly devDependencies: Versions;
}

const names = Object.keys(templates);
const own = readJson<Manifest>("package.json");

/** The templates have some packages under their own names, and this repository has them under others. */
const pins: Versions = {
  ...own.devDependencies,
  ai: own.devDependencies["ai-v7"]?.replace("npm:ai@", "") ?? "",
  typescript: own.devDependencies["typescript-7"]?.replace("npm:typescript@", "") ?? "",
  turnwright: own.version ?? "",
};

const usage = "Run `npx turnwright --help` for help.";

describe("turnwright create", () => {
  it.for(names)("%s: writes a project with the exact dependency versions that this repository uses", async (name) => {
    const folder = makeCliFolder();
    const { exitCode, out } = await runCommand(folder, ["create", name, "my-app"]);
    expect(exitCode).toBe(0);
    expect(out.join("\n")).toContain("cd my-app && npm install && npm start");
    const app = join(folder, "my-app");
    expect(readdirSync(app)).toEqual(
      expect.arrayContaining([".env.example", ".gitignore", "README.md", "package.json", "src", "test", "tsconfig.json"]),
    );
    const written = readdirSync(app, { recursive: true, encoding: "utf8" });
    expect(written.filter((path) => path.split(/[\\/]/).some((part) => part.startsWith("_")))).toEqual([]);
    const { name: title, dependencies, devDependencies } = readJson<Manifest>(join(app, "package.json"));
    expect(title).toBe("my-app");
    const versions = { ...dependencies, ...devDependencies };
    expect(versions).toEqual(Object.fromEntries(Object.keys(versions).map((each) => [each, pins[each]])));
    expect(readFileSync(join(app, "README.md"), "utf8")).toContain("npm install && npm start");
    expect(readFileSync(join(app, ".gitignore"), "utf8")).toContain(".env\n");
  });

  it("uses the same code to choose the model in all templates", () => {
    const texts = names.map((name) => readFileSync(`examples/create/${name}/src/model.ts`, "utf8"));
    expect(new Set(texts).size).toBe(1);
  });

  it("writes a README.md that names only existing pages and files, for each template", () => {
    for (const name of names) {
      const text = readFileSync(`examples/create/${name}/README.md`, "utf8");
      const pages = Array.from(text.matchAll(/node_modules\/turnwright\/([\w/-]+\.md)/g), ([, page = ""]) => page);
      const files = Array.from(text.matchAll(/`((?:src|test)\/[\w./-]+)`/g), ([, file]) => `examples/create/${name}/${file}`);
      expect([...pages, ...files].length).toBeGreaterThan(4);
      expect([...pages, ...files].filter((path) => !existsSync(path))).toEqual([]);
    }
  });

  it("names the folder after the template, and suggests the package manager in use", async () => {
    const folder = makeCliFolder();
    const { out } = await runCommand(folder, ["create", "bot"], { env: { npm_config_user_agent: "pnpm/10.1.0 npm/? node/v22" } });
    expect(out.join("\n")).toContain("cd bot && pnpm install && pnpm start");
    expect(readJson<Manifest>(join(folder, "bot/package.json")).name).toBe("bot");
  });

  it("writes a project into an empty repository, with a package name that differs from the folder's name", async () => {
    const folder = makeCliFolder();
    mkdirSync(join(folder, ".git"));
    const { exitCode, out } = await runCommand(folder, ["create", "bot", ".", "--name", "@me/helper"]);
    expect([exitCode, out[1]]).toEqual([0, "\n  npm install && npm start\n"]);
    expect(readJson<Manifest>(join(folder, "package.json")).name).toBe("@me/helper");
  });

  it("in a terminal, asks which template to use if none is given", async () => {
    const folder = makeCliFolder();
    const { exitCode, out } = await runCommand(folder, ["create"], { ask: async () => " tool-tests " });
    expect(exitCode).toBe(0);
    expect(out[0]).toMatch(/^Templates:\n {2}chat-page +a page with React/);
    expect(existsSync(join(folder, "tool-tests/package.json"))).toBe(true);
  });

  it.for<readonly [what: string, args: readonly string[], problem: string]>([
    [
      "a missing template without a terminal",
      [],
      "`create` needs a template: chat-page, terminal-agent, bot, worker, tool-tests.",
    ],
    [
      "an unknown template",
      ["chat"],
      'There is no template "chat". Choose one of these: chat-page, terminal-agent, bot, worker, tool-tests.',
    ],
    ["a template named after a property of Object.prototype", ["toString"], 'There is no template "toString".'],
    ["a third argument", ["bot", "a", "b"], "`create` takes one template and one folder."],
    ["an unknown option", ["bot", "--force"], "Unknown option '--force'."],
    [
      "a folder whose name is not a valid package name",
      ["bot", "My Bot"],
      '"My Bot" is not a valid package name: use lower-case letters',
    ],
    ["an empty name", ["bot", "a", "--name", ""], '"" is not a valid package name'],
    ["the name of a dependency", ["bot", "openai"], 'The project cannot be named "openai" because it uses the package'],
  ])("exits with code 2 for %s, and writes nothing", async ([, args, problem]) => {
    const folder = makeCliFolder();
    const { exitCode, notes } = await runCommand(folder, ["create", ...args]);
    expect([exitCode, notes[0]]).toEqual([2, expect.stringContaining(`turnwright: ${problem}`)]);
    expect(notes[0]).toContain(usage);
    expect(readdirSync(folder)).toEqual([]);
  });

  it("refuses a folder that is not empty, and changes nothing in it", async () => {
    const folder = makeCliFolder();
    writeFileSync(join(folder, "README.md"), "mine");
    const { exitCode, notes } = await runCommand(folder, ["create", "bot", ".", "--name", "a"]);
    expect(exitCode).toBe(1);
    expect(notes).toEqual(["turnwright: The folder . is not empty, so nothing was written. Choose another folder."]);
    expect(readdirSync(folder)).toEqual(["README.md"]);
    expect(readFileSync(join(folder, "README.md"), "utf8")).toBe("mine");
  });

  it("refuses a path that is a file, not a folder", async () => {
    const folder = makeCliFolder();
    writeFileSync(join(folder, "app"), "");
    const { exitCode, notes } = await runCommand(folder, ["create", "bot", "app"]);
    expect([exitCode, notes]).toEqual([1, ["turnwright: app is not a folder. Choose another path."]]);
  });
});
