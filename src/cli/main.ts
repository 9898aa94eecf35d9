#!/usr/bin/env node

import { existsSync, readFileSync } from "node:fs";
import { createProcessIO } from "./process-io.ts";
import { runCli } from "./run-cli.ts";

/** Reads the version from package.json, which is one folder above the bundle and two above this source file. */
function readVersion(): string {
  const found = ["../package.json", "../../package.json"]
    .map((path) => new URL(path, import.meta.url))
    .find((url) => existsSync(url));
  const description = found === undefined ? {} : (JSON.parse(readFileSync(found, "utf8")) as { readonly version?: string });
  return description.version ?? "unknown";
}

const ended = runCli(process.argv.slice(2), { ...createProcessIO(), version: readVersion() });

// There is no top-level await, because the build also makes a CommonJS form of this file, where top-level await is an error.
void ended.then((exitCode) => {
  process.exitCode = exitCode;
});
