// The one change that makes each step of the tutorial talk to a real model. The import of the stand-in replaces api.openai.com with
// a local server, so that the test needs no key.

import { stopStandIn } from "../support/openai-stand-in.ts";

// #region live
import OpenAI from "openai";
import { openaiChat } from "turnwright/openai";

const provider = openaiChat({ client: new OpenAI(), model: "gpt-5-mini" });
// #endregion live

import { runToolLoop } from "turnwright";

const { status } = await runToolLoop({ provider, messages: [{ role: "user", content: "Hi!" }] });
console.log(status);
await stopStandIn();
