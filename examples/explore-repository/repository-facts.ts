// Finds facts about a repository with simple rules: its name, its purpose, and the main function in its README.

import { z } from "zod";
import type { Match } from "./tools.ts";

export interface Manifest {
  readonly name?: string | undefined;
  readonly version?: string | undefined;
  readonly description?: string | undefined;
}

/** The keyword that starts a function, by the manifest of the language. */
const languages: Readonly<Record<string, string>> = {
  "package.json": "function",
  "Cargo.toml": "fn",
  "pyproject.toml": "def",
  "go.mod": "func",
};

/** A manifest is a file such as package.json. */
export function findManifest(files: readonly string[]): string | undefined {
  return files.find((file) => Object.hasOwn(languages, file));
}

export function findReadme(files: readonly string[]): string | undefined {
  return files.find((file) => /^readme(\.\w+)?$/i.test(file));
}

export function toDefinition(name: string, manifest: string | undefined): string {
  return `${languages[manifest ?? "package.json"] ?? "function"} ${name}`;
}

const packageJson = z.object({
  name: z.string().optional(),
  version: z.string().optional(),
  description: z.string().optional(),
});

export function readManifest(file: string | undefined, text = ""): Manifest {
  if (file === "package.json") return readPackageJson(text);
  if (file === "go.mod") return { name: /^module\s+(\S+)/m.exec(text)?.[1] };
  const valueOf = (field: string): string | undefined => new RegExp(`^${field}\\s*=\\s*"([^"]*)"`, "m").exec(text)?.[1];
  return { name: valueOf("name"), version: valueOf("version"), description: valueOf("description") };
}

function readPackageJson(text: string): Manifest {
  try {
    return packageJson.parse(JSON.parse(text));
  } catch {
    return {};
  }
}

/** Returns the first paragraph that is neither a heading nor a badge. */
export function readOpening(readme: string): string | undefined {
  const paragraphs = readme.split(/\n\s*\n/).map((paragraph) => paragraph.trim());
  return paragraphs.find((paragraph) => /^[\p{L}\p{N}*_`]/u.test(paragraph))?.replace(/\s+/g, " ");
}

/**
 * Finds the main function in the code samples of a README, among the functions that the samples call. If the samples have
 * imports, only imported functions count. Prefers a name that contains `word`, and then the function with the most calls.
 */
export function findShownFunction(readme: string, word: string): string | undefined {
  const code = [...readme.matchAll(/```\w*\n(.*?)```/gs)].map(([, block = ""]) => block).join("\n");
  const imported = [...code.matchAll(/import\s*\{([^}]*)\}/g)].flatMap(([, names = ""]) => names.match(/\w+/g) ?? []);
  const called = [...code.matchAll(/(?<![.\w])([A-Za-z_]\w{3,})\(/g)].map(([, name = ""]) => name);
  const names = imported.length === 0 ? called : called.filter((name) => imported.includes(name));
  return names.find((name) => name.toLowerCase().includes(word)) ?? findMostFrequent(names);
}

function findMostFrequent(names: readonly string[]): string | undefined {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].sort(([, one], [, other]) => other - one)[0]?.[0];
}

export function findMainMatch(matches: readonly Match[]): Match | undefined {
  const inSource = matches.filter(({ path }) => !/(^|\/)(tests?|examples?|docs|bench)\/|\.test\.|\.(md|txt)$/.test(path));
  const path = findMostFrequent(inSource.map((match) => match.path));
  return inSource.find((match) => match.path === path);
}

/** Finds the first function that is defined at this line or below. */
export function findFunctionBelow(text: string, line: number): { readonly name: string; readonly line: number } | undefined {
  const lines = text.split("\n");
  const at = lines.findIndex((content, index) => index + 1 >= line && definition.test(content));
  const name = definition.exec(lines[at] ?? "")?.[1];
  return name === undefined ? undefined : { name, line: at + 1 };
}

const definition = /\b(?:function|def|fn|func)\s+(\w+)/;
