// Tools that show their work while they run: generators, and parts for the user's stream.

import assert from "node:assert/strict";
import { createLoopEvents, defineAgentTool, defineTool, emitText, type Message, runToolLoop, runNested } from "turnwright";
import { createMockProvider, runTool, text, toolCall } from "turnwright/testing";
import { z } from "zod";

const messages: readonly Message[] = [{ role: "user", content: "Plan a trip to Bergen." }];
const fetch = async (url: string, _init: RequestInit): Promise<Response> => new Response(`A page of ${url}`);

// #region generator
const search = defineTool({
  name: "search",
  description: "Finds pages",
  inputSchema: z.object({ query: z.string() }),
  async *execute({ query }, { signal }) {
    const pages: string[] = [];
    for (const site of ["harbours.example.com", "tides.example.com"]) {
      const response = await fetch(`https://${site}/?q=${query}`, { signal });
      pages.push(await response.text());
      yield { found: pages.length }; // a preliminary result, for listeners and pages
    }
    return pages; // the result, which the model reads
  },
});
// #endregion generator

{
  const provider = createMockProvider([toolCall("search", { query: "tide" }), text("Go at noon.")]);
  const shown: unknown[] = [];
  const console = { log: (...parts: readonly unknown[]): void => void shown.push(parts) };
  // #region listen
  const events = createLoopEvents();
  events.on("tool-progress", ({ name, data, preliminary }) => {
    if (preliminary === true) console.log(name, data);
  });
  await runToolLoop({ provider, tools: [search], messages, events });
  // search { found: 1 }, and then search { found: 2 }
  // #endregion listen
  assert.deepEqual(shown, [
    ["search", { found: 1 }],
    ["search", { found: 2 }],
  ]);
}

{
  const provider = createMockProvider([toolCall("plan", { query: "Bergen" }), text("Here is the plan.")]);
  const written: unknown[] = [];
  const console = { log: (part: unknown): void => void written.push(part) };
  // #region emit
  const plan = defineTool({
    name: "plan",
    description: "Plans a trip",
    inputSchema: z.object({ query: z.string() }),
    async execute({ query }, { emit }) {
      emit({ type: "text", text: `Looking for trips to ${query}. ` });
      emit({ type: "data", name: "map", data: { zoom: 8 }, id: "route" });
      emit({ type: "data", name: "map", data: { zoom: 12 }, id: "route" }); // replaces the data above
      return { days: 3 };
    },
  });
  const events = createLoopEvents();
  events.on("tool-emit", ({ part }) => console.log(part));
  await runToolLoop({ provider, tools: [plan], messages, events });
  // #endregion emit
  assert.deepEqual(written, [
    { type: "text", text: "Looking for trips to Bergen. " },
    { type: "data", name: "map", data: { zoom: 8 }, id: "route" },
    { type: "data", name: "map", data: { zoom: 12 }, id: "route" },
  ]);
}

{
  const provider = createMockProvider([
    toolCall("guide", { query: "Bergen" }),
    text("Take the train."),
    toolCall("review", { query: "Bergen" }),
    text("Looks fine."),
    text("Done."),
  ]);
  const written: string[] = [];
  // #region nested
  const guide = defineAgentTool({
    name: "guide",
    description: "Describes a place",
    inputSchema: z.object({ query: z.string() }),
    emitText: true, // the text of the nested run also appears in the user's stream
    prepare: ({ query }) => ({ messages: [{ role: "user", content: `Describe ${query}.` }] }),
  });
  const review = defineTool({
    name: "review",
    description: "Reviews a plan",
    inputSchema: z.object({ query: z.string() }),
    async execute({ query }, context) {
      const asked: Message[] = [{ role: "user", content: `Review ${query}.` }];
      return (await runNested(context, { messages: asked, events: emitText(context) })).text;
    },
  });
  // #endregion nested
  const events = createLoopEvents();
  events.on("tool-emit", ({ name, part }) => written.push(`${name}: ${part.type === "text" ? part.text : part.name}`));
  await runToolLoop({ provider, tools: [guide, review], messages, events });
  assert.deepEqual(written, ["guide: Take the train.", "review: Looks fine."]);
}

{
  const shown: unknown[] = [];
  const outcome = await runTool(search, { query: "tide" }, { onProgress: (data) => shown.push(data) });
  assert.deepEqual(shown, [{ found: 1 }, { found: 2 }]);
  assert.equal(outcome.kind, "completed");
}
