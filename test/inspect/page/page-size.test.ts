import { gzipSync } from "node:zlib";
import { renderRunPage } from "turnwright/inspect";
import { describe, expect, it } from "vitest";

describe("the inspect page without logs", () => {
  it("is at most 52.5 KB when gzipped", async () => {
    expect(gzipSync(await renderRunPage([])).length).toBeLessThanOrEqual(52_500);
  });

  it("loads nothing and runs only its own script", async () => {
    const page = await renderRunPage([]);
    const policy = /content="(default-src[^"]+)"/.exec(page)?.[1]?.replaceAll(/'sha256-[\w+/=]+'/g, "HASH");
    expect(policy).toBe(
      "default-src 'none'; script-src HASH; style-src HASH; connect-src 'none'; base-uri 'none'; form-action 'none'",
    );
  });
});
