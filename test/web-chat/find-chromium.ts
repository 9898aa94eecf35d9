import { existsSync } from "node:fs";

/** The test file that needs a browser. */
export const browserTests = "test/web-chat/browser.test.ts";

/** Says why the tests of the page are left out. */
export const noChromium: string = `${browserTests} is left out: there is no Chromium. Install it (apt-get install chromium), or set CHROMIUM to its path.`;

/** Returns the path of a Chromium or Chrome: the one in CHROMIUM, else a usual place. Undefined if there is none. */
export function findChromium(): string | undefined {
  const own = process.env["CHROMIUM"];
  const usual = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
  return (own === undefined ? usual : [own]).find((path) => existsSync(path));
}
