import { existsSync } from "node:fs";

/** The test file that needs a browser. */
export const browserTests = "test/web-chat/browser.test.ts";

/** Says why the tests of the page are left out. */
export const noChromium: string = `${browserTests} is left out: there is no Chromium. Install it (apt-get install chromium), or set CHROMIUM to the path of one.`;

/** Returns the path of a Chromium or Chrome, or undefined if none is installed. */
export function findChromium(): string | undefined {
  const usual = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
  return [process.env["CHROMIUM"] ?? "", ...usual].find((path) => path !== "" && existsSync(path));
}
