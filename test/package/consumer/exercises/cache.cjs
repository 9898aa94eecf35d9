// Long results in files.

const assert = require("node:assert/strict");
const { mkdtempSync, readdirSync, rmSync } = require("node:fs");
const { tmpdir } = require("node:os");
const { join } = require("node:path");

exports.exercise = async (load) => {
  const { createResultCache, directoryStore } = await load("turnwright/cache");
  const folder = mkdtempSync(join(tmpdir(), "results-"));
  try {
    const { cacher } = createResultCache({ store: directoryStore(folder) });
    await cacher.store("line\n".repeat(1_000), { toolName: "list" });
    assert.equal(readdirSync(folder).length, 1);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};
