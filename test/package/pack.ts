// Packs the package once for all tests of this folder.

import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    packed: { readonly tarball: string; readonly files: readonly string[] };
  }
}

export function setup(project: TestProject): () => void {
  const folder = mkdtempSync(join(tmpdir(), "turnwright-pack-"));
  const printed = execFileSync("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", folder], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });
  const listed: readonly { readonly filename: string; readonly files: readonly { readonly path: string }[] }[] =
    JSON.parse(printed);
  const [packed] = listed;
  if (packed === undefined) throw new Error("npm has packed nothing.");
  project.provide("packed", { tarball: join(folder, packed.filename), files: packed.files.map(({ path }) => path) });
  return () => rmSync(folder, { recursive: true, force: true });
}
