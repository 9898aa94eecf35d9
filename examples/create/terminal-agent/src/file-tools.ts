// Tools that read the files of one folder, and nothing outside of it.

import { readdir, readFile, realpath } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { defineTool, type Tool } from "turnwright";
import { z } from "zod";

export function createFileTools(folder: string): readonly Tool[] {
  /** The model chooses the path, so a path may lead anywhere, even through a symbolic link. */
  async function resolveInside(path: string): Promise<string> {
    const root = await realpath(folder);
    const found = await realpath(join(root, path)).catch(() => undefined);
    if (found === undefined) throw new Error(`There is no file ${path}.`); // the model reads this message
    const inside = relative(root, found);
    if (inside === ".." || inside.startsWith(`..${sep}`)) throw new Error(`${path} is outside of the folder.`);
    return found;
  }

  const listFiles = defineTool({
    name: "list_files",
    description: "Names of the files and folders in a folder, such as '.'",
    inputSchema: z.object({ folder: z.string() }),
    async execute({ folder: path }) {
      const entries = await readdir(await resolveInside(path), { withFileTypes: true });
      const names = entries.map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name));
      return names.filter((name) => name !== "node_modules/" && !name.startsWith(".")).sort();
    },
  });

  const readText = defineTool({
    name: "read_file",
    description: "Text of a file, at most the first 20,000 characters",
    inputSchema: z.object({ path: z.string() }),
    async execute({ path }, { signal }) {
      const text = await readFile(await resolveInside(path), { encoding: "utf8", signal });
      return text.slice(0, 20_000);
    },
  });

  return [listFiles, readText];
}
