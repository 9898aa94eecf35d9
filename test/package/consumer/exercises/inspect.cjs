// Writes and reads the log of a run.

const assert = require("node:assert/strict");

exports.exercise = async (load) => {
  const { runToolLoop } = await load("turnwright");
  const { parseRunLog, runLog } = await load("turnwright/inspect");
  const { createMockProvider, text } = await load("turnwright/testing");
  const lines = [];
  const options = { provider: createMockProvider([text("Hello.")]), messages: [{ role: "user", content: "Hi." }], runId: "r1" };
  await runToolLoop({ ...options, middleware: [runLog({ to: { write: (line) => lines.push(line) } })] });
  const { runs } = parseRunLog(lines.join(""));
  assert.deepEqual(
    runs.map(({ runId, status }) => [runId, status]),
    [["r1", "completed"]],
  );
};
