// A conversation of two runs, a reader that comes late, and its events as Server-Sent Events.

const assert = require("node:assert/strict");
const { mkdtempSync, rmSync } = require("node:fs");
const { tmpdir } = require("node:os");
const { join } = require("node:path");

exports.exercise = async (load) => {
  const { fileConversationStore } = await load("turnwright/conversation");
  const { createRunHost, lastEventId, toEventStreamResponse } = await load("turnwright/host");
  const { createMockProvider, text } = await load("turnwright/testing");
  const folder = mkdtempSync(join(tmpdir(), "host-"));
  try {
    const host = createRunHost({ store: fileConversationStore(folder) });
    const provider = createMockProvider([text("One."), text("Two.")]);
    const id = "consumer";
    const first = await host.start(id, { provider, message: "Hello." });
    assert.equal(first.kind, "started");
    await first.result;
    const second = await host.start(id, { provider, message: "And now?" });
    assert.equal(second.runId, `${id}/2`);
    const request = { url: "/stream?offset=-1", headers: {} };
    const body = await toEventStreamResponse(host.join(id, { from: lastEventId(request) })).text();
    assert.match(body, /"text":"Two\."/);
    assert.equal((await host.status(id)).messages.length, 4);
    await host.close();
    assert.equal(host.join(id), undefined);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};
