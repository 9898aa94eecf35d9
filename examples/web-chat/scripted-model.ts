// A scripted model, so that the example needs no API key. It orders tea, and calls the researcher agent.

import type { Message, ModelChunk, Provider, ToolResultPart } from "turnwright";
import { createMockProvider, type MockMessage, type MockPart, text, toolCall } from "turnwright/testing";
import { type Pace, readOrder, researcherPrompt } from "./tea-shop.ts";

/** The model needs only the transcript, so another process can continue a run. */
export function createScriptedModel(pace: Pace): Provider {
  const model = createMockProvider(
    ({ messages, system }) => (system === researcherPrompt ? research(messages) : talk(messages)),
    { id: "script", model: "scripted-model", record: false },
  );
  return {
    id: model.id,
    model: model.model,
    async *stream(request, call): AsyncGenerator<ModelChunk, void> {
      for await (const chunk of model.stream(request, call)) {
        if (chunk.type === "text-delta") await pace(call.signal);
        yield chunk;
      }
    },
  };
}

const say = (words: string): MockPart[] => words.split(/(?<=\s)/).map((word) => text(word));

function talk(messages: readonly Message[]): MockMessage {
  const { question, results } = readLast(messages);
  const ordered = results.find(({ name }) => name === "place_order");
  if (ordered !== undefined) return say(confirm(ordered));
  const researched = results.find(({ name }) => name === "ask_researcher");
  if (researched !== undefined) return say(`My researcher says: ${textOf(researched)}`);
  if (results.length > 0)
    return [...say("It is in stock. May I order two bags?"), toolCall("place_order", { tea: "Sencha", bags: 2 })];
  if (/order|buy/i.test(question))
    return [...say("Let me look at the price first."), toolCall("look_up_price", { tea: "Sencha" }, { fragments: 3 })];
  if (/compare|research/i.test(question))
    return [...say("I ask my researcher."), toolCall("ask_researcher", { question: "Sencha or Assam for the morning?" })];
  return say(story);
}

function research(messages: readonly Message[]): MockMessage {
  const { results } = readLast(messages);
  if (results.length === 0)
    return [
      ...say("I compare both prices."),
      toolCall("look_up_price", { tea: "Sencha" }),
      toolCall("look_up_price", { tea: "Assam" }),
    ];
  return say("Assam is stronger and costs less. Take it in the morning.");
}

function confirm({ outcome, result }: ToolResultPart): string {
  const order = readOrder(result);
  if (outcome === "completed" && order !== undefined) return `I have ordered ${order.bags} bags of ${order.tea}.`;
  return outcome === "denied" ? "All right, I have ordered nothing." : "The order did not work, I am sorry.";
}

function readLast(messages: readonly Message[]): { readonly question: string; readonly results: readonly ToolResultPart[] } {
  const index = messages.findLastIndex(({ role }) => role === "user");
  const asked = messages[index];
  const results = messages.slice(index + 1).flatMap((message) => (message.role === "tool" ? message.results : []));
  if (asked?.role !== "user") return { question: "", results };
  const { content } = asked;
  const parts = typeof content === "string" ? [content] : content.map((part) => (part.type === "text" ? part.text : ""));
  return { question: parts.join(" "), results };
}

const textOf = ({ result }: ToolResultPart): string => (typeof result === "string" ? result : JSON.stringify(result));

const story =
  "Tea began as medicine. A thousand years ago, monks in China whisked powdered leaves with hot water so that they could stay awake, " +
  "and carried the habit over the sea to Japan. Traders brought leaves to Europe, where they were locked away like silver. Today " +
  "it is the most common drink after water. I am a script, so I can tell you this story, order Sencha for you, or let my researcher " +
  "compare two teas.";
