// Opens a page in the browser of the person.

import { spawn } from "node:child_process";

interface Opener {
  readonly program: string;
  readonly args: readonly string[];
}

/** Returns the program that opens a URL. The URL is an argument of its own, so no shell reads it. */
export function findOpener(platform: NodeJS.Platform, url: string): Opener {
  if (platform === "darwin") return { program: "open", args: [url] };
  if (platform === "win32") return { program: "rundll32", args: ["url.dll,FileProtocolHandler", url] };
  return { program: "xdg-open", args: [url] };
}

/** Starts the browser. Returns false if no program could be started. */
export function openTarget(url: string): boolean {
  const { program, args } = findOpener(process.platform, url);
  const child = spawn(program, args, { stdio: "ignore", detached: true });
  // A missing program is reported by an event, and must not end this process.
  child.on("error", () => {});
  child.unref();
  return child.pid !== undefined;
}
