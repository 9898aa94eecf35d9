// Builds the types of the entries in dist, for ESM and for CommonJS. The sources annotate everything that they export, so the types
// are made without a type check: `npm run typecheck` does that.

import { rolldown } from "rolldown";
import { dts } from "rolldown-plugin-dts";
import { entries } from "./entries.ts";

for (const ending of ["js", "cjs"]) {
  const bundle = await rolldown({
    input: Object.fromEntries(entries.map(({ name, source }) => [name, `./${source}`])),
    plugins: [dts({ emitDtsOnly: true, oxc: {} })],
    // Keeping imports that have only side effects would make programs for browsers need the types of Node.
    treeshake: { moduleSideEffects: false },
    // Types of other packages stay imports.
    external: (id) => !/^[./]/.test(id),
  });
  // The plugin writes the types of "index.js" to "index.d.ts", and of "index.cjs" to "index.d.cts".
  await bundle.write({ dir: "dist", entryFileNames: `[name].${ending}`, chunkFileNames: `types-[hash].${ending}` });
  await bundle.close();
}
