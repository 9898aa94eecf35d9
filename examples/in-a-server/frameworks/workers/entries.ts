// Uses entries that import Node modules, which a Worker has with the flag `nodejs_compat`.

import { createConversation, memoryConversationStore } from "turnwright/conversation";
import * as cache from "turnwright/cache";
import * as evals from "turnwright/evals";
import * as host from "turnwright/host";
import * as inspect from "turnwright/inspect";
import * as journal from "turnwright/journal";
import * as testing from "turnwright/testing";
import { provider, tools } from "./agent";

const key = process.env["OPENAI_API_KEY"]; // as clients of the vendors read it

export default {
  async fetch(): Promise<Response> {
    const loaded = [cache, evals, host, inspect, journal, testing].every((entry) => Object.keys(entry).length > 0);
    const store = memoryConversationStore();
    const chat = createConversation({ id: "chat-17", store, journal: store.journal, options: { provider, tools } });
    const { text } = await chat.send("Do I need a coat in Oslo?");
    return Response.json({ key, loaded, text, removed: await chat.remove() });
  },
};
