import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

/** The files of the page, by URL path. */
export type PageFiles = ReadonlyMap<string, { readonly type: string; readonly body: string }>;

export async function bundlePage(): Promise<PageFiles> {
  const pathOf = (name: string): string => fileURLToPath(new URL(`page/${name}`, import.meta.url));
  const { outputFiles } = await build({
    entryPoints: [pathOf("page.tsx")],
    bundle: true,
    write: false,
    minify: true,
    format: "esm",
    platform: "browser",
    jsx: "automatic",
    define: { "process.env.NODE_ENV": '"production"' },
    // This repository tests three major versions of `ai`, so version 7 is installed under another name. In your application, use
    // `ai`.
    alias: { ai: "ai-v7" },
  });
  return new Map([
    ["/", { type: "text/html; charset=utf-8", body: await readFile(pathOf("index.html"), "utf8") }],
    ["/page.css", { type: "text/css; charset=utf-8", body: await readFile(pathOf("page.css"), "utf8") }],
    ["/page.js", { type: "text/javascript; charset=utf-8", body: outputFiles[0]?.text ?? "" }],
  ]);
}
