// Tools that read the files of one folder. A path from the model cannot lead out of the folder, even through a symbolic link.

import { readdir, readFile, realpath, stat } from "node:fs/promises";
import { join, relative, resolve, sep } from "node:path";
import { defineTool, type Tool } from "turnwright";
import { z } from "zod";

const maxFiles = 200;
const maxHits = 20;
const maxLines = 60;
const maxBytes = 500_000;

/** The tools read only the Markdown files of the folder. */
export async function createFileTools(folder: string): Promise<readonly Tool[]> {
  const root = await realpath(folder);

  async function readLines(path: string): Promise<readonly string[]> {
    const real = await realpath(resolve(root, path)).catch(() => undefined);
    const isInside = real !== undefined && real.startsWith(root + sep) && real.endsWith(".md");
    // One message for missing files and for files outside of the folder. Different messages would tell the model which files exist.
    if (!isInside) throw new Error("There is no such file. Call list_files.");
    if ((await stat(real)).size > maxBytes) throw new Error(`The file is larger than ${maxBytes} bytes.`);
    return (await readFile(real, "utf8")).split("\n");
  }

  async function listFiles(): Promise<readonly string[]> {
    const entries = await readdir(root, { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile() && entry.name.endsWith(".md"));
    const paths = files.map((entry) => relative(root, join(entry.parentPath, entry.name)).replaceAll(sep, "/"));
    return paths.sort().slice(0, maxFiles);
  }

  return [
    defineTool({
      name: "list_files",
      description: `Lists the Markdown files, at most ${maxFiles}`,
      inputSchema: z.object({}),
      execute: listFiles,
    }),
    defineTool({
      name: "grep",
      description: `Finds lines that contain a text, at most ${maxHits}`,
      inputSchema: z.object({ text: z.string().min(2).max(100) }),
      timeoutMs: 10_000,
      async execute({ text }, { signal }) {
        const hits: string[] = [];
        for (const path of await listFiles()) {
          signal.throwIfAborted();
          const lines = await readLines(path).catch(() => []);
          lines.forEach((line, index) => {
            if (hits.length < maxHits && line.includes(text)) hits.push(`${path}:${index + 1}: ${line.slice(0, 200)}`);
          });
        }
        return hits;
      },
    }),
    defineTool({
      name: "read_lines",
      description: `Reads lines of a file, at most ${maxLines}`,
      inputSchema: z.object({ path: z.string(), from: z.number().int().min(1), count: z.number().int().min(1).max(maxLines) }),
      async execute({ path, from, count }) {
        const lines = await readLines(path);
        return lines.slice(from - 1, from - 1 + count).map((line, index) => `${path}:${from + index}: ${line}`);
      },
    }),
  ];
}
