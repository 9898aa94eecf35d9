// Builds the types of the entries in dist, for ESM and for CommonJS. The sources annotate everything that they export, so the types
// are made without a type check: `npm run typecheck` does that.

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { rolldown } from "rolldown";
import { dts } from "rolldown-plugin-dts";
import { entries } from "./entries.ts";

const bundle = await rolldown({
  input: Object.fromEntries(entries.map(({ name, source }) => [name, `./${source}`])),
  plugins: [dts({ emitDtsOnly: true, oxc: {} })],
  // Keeping imports that have only side effects would make programs for browsers need Node's types.
  treeshake: { moduleSideEffects: false },
  // Types of other packages stay imports.
  external: (id) => !/^[./]/.test(id),
});
// The plugin writes the types of "index.js" to "index.d.ts".
await bundle.write({ dir: "dist", entryFileNames: "[name].js", chunkFileNames: "types-[hash].js" });
await bundle.close();

// The types for CommonJS differ only in the names of the files that they import.
for (const file of readdirSync("dist").filter((name) => name.endsWith(".d.ts"))) {
  const types = readFileSync(join("dist", file), "utf8").replaceAll(/"(\.\/[\w-]+)\.js"/g, '"$1.cjs"');
  writeFileSync(join("dist", file.replace(/ts$/, "cts")), types);
}
