// The chat server in a separate process, for tests that kill the server. The arguments are a folder, and the number of words before
// the model hangs.

import { fileConversationStore } from "turnwright/conversation";
import { bundleOnce, openStage } from "./stage.ts";

const [folder = "", words = ""] = process.argv.slice(2);
const { url, gate } = await openStage({ files: await bundleOnce(), store: fileConversationStore(folder) });
gate.holdAfter(Number(words));
console.log(url);
