import { join } from "node:path";
import { expect, it } from "vitest";
import { fileSource } from "turnwright/cache";
import { makeFolder } from "../journal/folder.ts";
import { readFrom } from "./read-stage.ts";

it("fileSource: names the `root` option, but not the folder's path, if the folder does not exist", async () => {
  const outside = makeFolder();
  const read = readFrom(fileSource(join(outside, "nope")));
  for (const id of ["nope", "nope/app.log"]) {
    expect(await read({ id, action: "head" })).toBe(
      'failed: The folder "nope" does not exist. The program must pass an existing folder as "root" of fileSource.',
    );
  }
});
