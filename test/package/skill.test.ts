// Compiles each program of the skill and of llms.txt that is a whole module, as somebody does who pastes it.

import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Installed, installPacked } from "./install-packed.ts";

let installed: Installed;
beforeAll(() => {
  installed = installPacked(["eventemitter3", "@types/node", "zod", "openai", "@pydantic/genai-prices"]);
});
afterAll(() => installed.remove());

function readPrograms(page: string): readonly string[] {
  const text = readFileSync(join(installed.folder, "node_modules/turnwright", page), "utf8");
  return Array.from(text.matchAll(/^```ts\n([\s\S]*?)^```$/gm), ([, code = ""]) => code);
}

function compile(programs: readonly string[]): string {
  const files = programs.map((code, index) => {
    const file = `pasted${index}.mts`;
    writeFileSync(join(installed.folder, file), code);
    return file;
  });
  const flags = ["--noEmit", "--strict", "--module", "nodenext", "--target", "es2022", "--types", "node", "--skipLibCheck"];
  try {
    return execFileSync(process.execPath, [resolve("node_modules/typescript-7/bin/tsc"), ...flags, ...files], {
      cwd: installed.folder,
      encoding: "utf8",
    });
  } catch (error) {
    return String((error as { readonly stdout?: unknown }).stdout);
  }
}

it("SKILL.md: each program compiles on its own with the packed package", () => {
  const programs = readPrograms("skills/turnwright/SKILL.md");
  expect(programs.length).toBeGreaterThan(9);
  const [first = ""] = readPrograms("llms.txt");
  expect(compile([...programs, first])).toBe("");
});

it("SKILL.md: the test finds a program that does not compile", () => {
  expect(compile(['import { runLoop } from "turnwright";\nrunLoop();'])).toContain("runLoop");
});
