#!/usr/bin/env node
// The program `turnwright`.

import { existsSync, readFileSync } from "node:fs";
import { createProcessIO } from "./process-io.ts";
import { runCli } from "./run-cli.ts";

/** Reads the version from the package.json above the folder of this file. */
function readVersion(): string {
  const found = ["../package.json", "../../package.json"]
    .map((path) => new URL(path, import.meta.url))
    .find((url) => existsSync(url));
  const description = found === undefined ? {} : (JSON.parse(readFileSync(found, "utf8")) as { readonly version?: string });
  return description.version ?? "unknown";
}

const ended = runCli(process.argv.slice(2), { ...createProcessIO(), version: readVersion() });

// No top-level await, because the build also makes a CommonJS form, which it then removes.
void ended.then((exitCode) => {
  process.exitCode = exitCode;
});
