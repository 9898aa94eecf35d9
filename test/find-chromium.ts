import { existsSync } from "node:fs";

export const browserTests = "test/**/*browser.test.ts";

export const noChromium: string = `The tests ${browserTests} are skipped, because Chromium was not found. Install Chromium (apt-get install chromium), or set CHROMIUM to its path.`;

/**
 * Returns the path of Chromium or Chrome: the variable CHROMIUM if it is set, otherwise a common path. Returns undefined if there
 * is no such file.
 */
export function findChromium(): string | undefined {
  const own = process.env["CHROMIUM"];
  const usual = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
  return (own === undefined ? usual : [own]).find((path) => existsSync(path));
}
