import base from "./vitest.config.ts";
const redirect = {
  name: "seam",
  enforce: "pre" as const,
  resolveId(source: string, importer: string | undefined) {
    if (source === "./loop/run-tool-loop.ts" && importer?.endsWith("src/core/index.ts")) return new URL("./src/core/run/translated.ts", import.meta.url).pathname;
    return null;
  },
};
export default { ...base, plugins: [redirect], test: { ...base.test, projects: undefined, include: ["test/loop/**/*.test.ts"], testTimeout: 8000, isolate: true } };
