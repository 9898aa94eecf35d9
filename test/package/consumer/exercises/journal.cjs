// A run with a journal file, which does not run twice.

const assert = require("node:assert/strict");
const { mkdtempSync, rmSync } = require("node:fs");
const { tmpdir } = require("node:os");
const { join } = require("node:path");

exports.exercise = async (load) => {
  const { runToolLoop } = await load("turnwright");
  const { fileJournal, replayJournal } = await load("turnwright/journal");
  const { createMockProvider, text } = await load("turnwright/testing");
  const folder = mkdtempSync(join(tmpdir(), "runs-"));
  const file = () => fileJournal(join(folder, "r1.jsonl"));
  const provider = createMockProvider([text("Hello.")]);
  const options = { provider, messages: [{ role: "user", content: "Hi." }], runId: "r1" };
  try {
    for (const journal of [file(), file(), replayJournal(file())]) {
      const result = await runToolLoop({ ...options, journal });
      assert.equal(result.text, "Hello.");
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  assert.equal(provider.calls, 1);
};
