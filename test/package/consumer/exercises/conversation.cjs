// A conversation in a file, which a second object continues.

const assert = require("node:assert/strict");
const { mkdtempSync, rmSync } = require("node:fs");
const { tmpdir } = require("node:os");
const { join } = require("node:path");

exports.exercise = async (load) => {
  const { createConversation, fileConversationStore } = await load("turnwright/conversation");
  const { createMockProvider, text } = await load("turnwright/testing");
  const folder = mkdtempSync(join(tmpdir(), "chats-"));
  const provider = createMockProvider([text("Hello."), text("Bye.")]);
  const open = () => createConversation({ id: "chat-17", store: fileConversationStore(folder), options: { provider } });
  try {
    assert.equal((await open().send("Hi.")).text, "Hello.");
    assert.equal((await open().send("Bye!")).text, "Bye.");
    assert.equal((await open().messages()).length, 4);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};
