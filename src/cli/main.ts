#!/usr/bin/env node

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createProcessIO, endProcess } from "./process-io.ts";
import { runCli } from "./run-cli.ts";

/** The folder of package.json, which is one folder above the bundle and two above this source file. */
function findPackage(): string {
  const found = ["..", "../.."].find((path) => existsSync(new URL(`${path}/package.json`, import.meta.url)));
  return fileURLToPath(new URL(found ?? "..", import.meta.url));
}

function readVersion(packageFolder: string): string {
  const path = join(packageFolder, "package.json");
  const description = existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as { readonly version?: string }) : {};
  return description.version ?? "unknown";
}

const packageFolder = findPackage();
const version = readVersion(packageFolder);

// Uses `then` because this file is also built as CommonJS, where top-level `await` is an error.
void runCli(process.argv.slice(2), { ...createProcessIO(packageFolder), version }).then(endProcess);
