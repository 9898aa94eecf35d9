// A server for AG-UI clients, for tests that kill its process. The arguments are a folder and a protocol version. The model hangs
// after the first words of its last answer.

import { fileConversationStore } from "turnwright/conversation";
import type { AGUIVersion } from "../../src/ag-ui/ag-ui-event.ts";
import { createMockProvider, stall, text, toolCall } from "turnwright/testing";
import { defineTool } from "turnwright";
import { serve } from "./page-server.ts";

const [folder = "", version = "1.0"] = process.argv.slice(2);
const look = defineTool({
  name: "look",
  description: "Looks up",
  inputSchema: { type: "object" },
  execute: () => "found by the killed server",
});
const provider = createMockProvider([
  [text("One moment."), toolCall("look")],
  [text("It is "), stall()],
]);
const server = await serve({
  run: { provider, tools: [look] },
  version: version as AGUIVersion,
  store: fileConversationStore(folder),
});
console.log(server.url);
