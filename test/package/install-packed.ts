// Installs the packed package as users do, but without a network: npm packs it (pack.ts), and tar unpacks it.

import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { inject } from "vitest";

export interface Installed {
  readonly folder: string;
  readonly files: readonly string[];
  remove(): void;
}

export function installPacked(beside: readonly string[]): Installed {
  const folder = mkdtempSync(join(tmpdir(), "turnwright-packed-"));
  const modules = join(folder, "node_modules");
  mkdirSync(modules);
  const { tarball, files } = inject("packed");
  execFileSync("tar", ["-xzf", tarball, "-C", "node_modules"], { cwd: folder });
  renameSync(join(modules, "package"), join(modules, "turnwright"));
  linkPackages(folder, beside);
  writeFileSync(join(folder, "package.json"), '{ "private": true }\n');
  cpSync("test/package/consumer", folder, { recursive: true });
  return {
    folder,
    files,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

export function linkPackages(folder: string, names: readonly string[]): void {
  for (const name of names) {
    const path = join(folder, "node_modules", name);
    mkdirSync(dirname(path), { recursive: true });
    symlinkSync(resolve("node_modules", name), path, "junction");
  }
}
