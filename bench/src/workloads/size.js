// Measures the size of a program that imports `runToolLoop` and `defineTool`, after bundling, minifying and gzip.
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { fileURLToPath } from "node:url";
import { dist } from "../turnwright.js";

/** @returns {Promise<readonly import("../row.js").Row[]>} */
export async function measureWorkload() {
  const core = fileURLToPath(new URL("index.js", dist));
  const contents = `import { defineTool, runToolLoop } from ${JSON.stringify(core)}; console.log(defineTool, runToolLoop);`;
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: fileURLToPath(dist) },
    bundle: true,
    minify: true,
    format: "esm",
    write: false,
  });
  const turnwright = gzipSync(outputFiles[0]?.contents ?? "").length / 1024;
  const target = /** @type {const} */ ({ of: "turnwright", atMost: 32 });
  return [{ workload: "runToolLoop and defineTool, bundled, minified, gzip", unit: "KB", turnwright, target }];
}
