// Long results in files, and parts of files.

const assert = require("node:assert/strict");
const { mkdtempSync, readdirSync, rmSync, writeFileSync } = require("node:fs");
const { tmpdir } = require("node:os");
const { join } = require("node:path");

exports.exercise = async (load) => {
  const { createResultCache, directoryStore, fileSource } = await load("turnwright/cache");
  const { runTool } = await load("turnwright/testing");
  const folder = mkdtempSync(join(tmpdir(), "results-"));
  try {
    const { cacher } = createResultCache({ store: directoryStore(folder) });
    await cacher.store("line\n".repeat(1_000), { toolName: "list" });
    assert.equal(readdirSync(folder).length, 1);
    writeFileSync(join(folder, "ships.json"), '[{"name":"Fram"}]');
    const { tool } = createResultCache({ sources: [fileSource(folder, { name: "data" })] });
    const { data } = await runTool(tool, { action: "json", id: "data/ships.json", path: "$[0].name" });
    assert.equal(data, 'Matches 1 to 1 of 1.\n$[0].name: "Fram"');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};
