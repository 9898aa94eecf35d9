// The tools for exploring a repository. They list files, read a file and search all files. No tool writes files.

import { z } from "zod";
import { defineTool, type Tool, toolResult } from "turnwright";
import type { Workspace } from "./workspace.ts";

const maxListed = 300;
const maxFolders = 60;
const maxLines = 400;
const maxCharacters = 24_000;
const maxMatches = 40;
const maxLineLength = 200;

const folderSchema = z.string().default(".").describe('Folder, relative to the root; "." is the root itself');

/** The metadata of each result has a short summary for the user. */
export function createTools(workspace: Workspace): readonly Tool[] {
  const listFiles = defineTool({
    name: "list_files",
    description: "Lists the files of a folder and of all folders in it, without what is ignored",
    inputSchema: z.object({ folder: folderSchema }),
    timeoutMs: 20_000,
    async execute({ folder }, { signal }) {
      const paths = await workspace.listFiles(folder, signal);
      const files = paths.slice(0, maxListed);
      const data = { total: paths.length, folders: countByFolder(paths), files, omitted: paths.length - files.length };
      return toolResult({ data, metadata: count(paths.length, "file") });
    },
  });

  const readFile = defineTool({
    name: "read_file",
    description: `Reads a text file, ${maxLines} lines at most; "fromLine" goes on further down`,
    inputSchema: z.object({ path: z.string().min(1), fromLine: z.int().min(1).default(1) }),
    timeoutMs: 20_000,
    async execute({ path, fromLine }) {
      const lines = (await workspace.readText(path)).split("\n");
      const shown = lines.slice(fromLine - 1, fromLine - 1 + maxLines);
      const text = shown.join("\n").slice(0, maxCharacters);
      return toolResult({ data: { path, totalLines: lines.length, fromLine, text }, metadata: count(lines.length, "line") });
    },
  });

  const search = defineTool({
    name: "search",
    description: "Finds the lines that contain a text, letter for letter, in all text files of a folder",
    // The search text is plain text. Some regular expressions would take almost forever.
    inputSchema: z.object({ text: z.string().min(1).max(200), folder: folderSchema }),
    timeoutMs: 20_000,
    async execute({ text, folder }, { signal, progress }) {
      const paths = await workspace.listFiles(folder, signal);
      const matches: Match[] = [];
      let total = 0;
      for (const [index, path] of paths.entries()) {
        signal.throwIfAborted();
        if (index % 50 === 0) progress(`${index} of ${count(paths.length, "file")}`);
        for (const match of findLines(path, await workspace.readText(path).catch(() => ""), text)) {
          total += 1;
          if (matches.length < maxMatches) matches.push(match);
        }
      }
      const data = { searched: paths.length, total, matches, omitted: total - matches.length };
      return toolResult({ data, metadata: `${count(total, "match", "matches")} in ${count(paths.length, "file")}` });
    },
  });

  return [listFiles, readFile, search];
}

/** Counts the files of a folder with its subfolders. The folder with the most files comes first. */
function countByFolder(paths: readonly string[]): readonly { readonly folder: string; readonly files: number }[] {
  const counts = new Map<string, number>();
  for (const path of paths) {
    const [top = "", ...rest] = path.split("/").slice(0, -1);
    const folders = rest[0] === undefined ? [top] : [top, `${top}/${rest[0]}`];
    for (const folder of folders) if (folder !== "") counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  const largestFirst = [...counts].sort(([, one], [, other]) => other - one).slice(0, maxFolders);
  return largestFirst.map(([folder, files]) => ({ folder, files }));
}

export interface Match {
  readonly path: string;
  /** Counted from 1. */
  readonly line: number;
  readonly text: string;
}

function* findLines(path: string, content: string, text: string): Iterable<Match> {
  // Most files do not contain the text, and splitting a file into lines is slow.
  if (!content.includes(text)) return;
  for (const [index, line] of content.split("\n").entries()) {
    if (line.includes(text)) yield { path, line: index + 1, text: line.trim().slice(0, maxLineLength) };
  }
}

function count(number: number, one: string, many = `${one}s`): string {
  return `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
}
