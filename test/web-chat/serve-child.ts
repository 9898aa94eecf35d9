// A server of the chat in a process of its own, for tests that kill it: a folder and the number of words before it hangs.

import { fileRunStore } from "turnwright/host";
import { bundleOnce, openStage } from "./stage.ts";

const [folder = "", words = ""] = process.argv.slice(2);
const { url, gate } = await openStage({ files: await bundleOnce(), store: fileRunStore(folder) });
gate.holdAfter(Number(words));
console.log(url);
