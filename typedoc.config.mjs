// Builds the reference out of the docstrings of the published entries.

import { readFileSync } from "node:fs";
import { showInnerTypes } from "./scripts/show-inner-types.mjs";

const { compilerOptions } = JSON.parse(readFileSync("tsconfig.json", "utf8"));

/** @type {import("typedoc").TypeDocOptions} */
export default {
  entryPoints: Object.values(compilerOptions.paths).flat(),
  // Without it, TypeDoc reads the tests and the examples too.
  tsconfig: "scripts/tsconfig.reference.json",
  out: "docs/reference",
  readme: "none",
  treatWarningsAsErrors: true,
  // The types are checked by a gate of their own.
  skipErrorChecking: true,
  // Links to sources need a public remote.
  disableSources: true,
  // An entry exports a type only if programs write its name. The reference shows the others too.
  plugin: [showInnerTypes],
  // Marks in types, which nobody writes or reads.
  intentionallyNotExported: ["fromSchema", "inherited", "prefix"],
};
