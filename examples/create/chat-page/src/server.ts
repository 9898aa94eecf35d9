import { readFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import type { Provider } from "turnwright";
import { createChatHandler } from "./chat.ts";

const pathOf = (name: string): string => fileURLToPath(new URL(`page/${name}`, import.meta.url));

async function bundlePage(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [pathOf("page.tsx")],
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    platform: "browser",
    jsx: "automatic",
    define: { "process.env.NODE_ENV": '"production"' },
  });
  return outputFiles[0]?.text ?? "";
}

export async function createChatServer(provider: Provider): Promise<Server> {
  const [html, script] = await Promise.all([readFile(pathOf("index.html"), "utf8"), bundlePage()]);
  const chat = createChatHandler(provider);
  return createServer((request, response) => {
    const route = `${request.method} ${request.url}`;
    if (route === "GET /") response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end(html);
    else if (route === "GET /page.js") response.writeHead(200, { "content-type": "text/javascript; charset=utf-8" }).end(script);
    else if (route === "POST /api/chat") void chat(request, response);
    else response.writeHead(404).end();
  });
}
