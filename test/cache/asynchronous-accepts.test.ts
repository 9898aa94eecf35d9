import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { fileSource } from "turnwright/cache";
import { makeFolder } from "../journal/folder.ts";
import { readFrom } from "./read-stage.ts";

it("fileSource: rejects every file if `accepts` returns a promise", async () => {
  const root = makeFolder();
  writeFileSync(join(root, "app.log"), "secret");
  const accepts = (async () => true) as unknown as () => boolean;
  const read = readFrom(fileSource(root, { name: "data", accepts }));
  expect(await read({ id: "data", action: "read" })).toContain("(The folder is empty.)");
  expect(await read({ id: "data/app.log", action: "read" })).toMatch(/^failed: There is no such file/);
});
