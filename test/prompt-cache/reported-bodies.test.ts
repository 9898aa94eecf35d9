import { defineTool } from "turnwright";
import { expect, it } from "vitest";
import { type Scripted, wires } from "../wire/all-wires.ts";
import { playWire } from "./play-wires.ts";

const weather = defineTool({
  name: "get_weather",
  description: "The weather in a city",
  inputSchema: { type: "object", properties: { city: { type: "string" } } },
  execute: () => ({ celsius: 3 }),
});

const call = (id: string): Scripted => ({ calls: [[id, "get_weather", '{"city":"Oslo"}']], end: "tools" });
const script: readonly Scripted[] = [call("a"), { text: "Hmm.", ...call("b") }, { text: "Oslo.", end: "stop" }];

/** The Google SDK sends the fields of `config` at other places of the body. Their values are unchanged. */
function toSent(name: string, reported: unknown): unknown {
  if (name !== "google") return reported;
  const { contents, config } = reported as { contents: unknown; config: { tools: unknown; systemInstruction: unknown } };
  return { contents, tools: config.tools, systemInstruction: config.systemInstruction };
}

it.for(wires)("$name: the reported bodies are the bodies at the fetch of the SDK", async (wire) => {
  const { result, bodies, reported, recording } = await playWire({ wire, script }, { tools: [weather], system: "Be brief." });
  expect([result.text, bodies.length, reported.length]).toEqual(["Oslo.", 3, 3]);
  for (const [index, body] of bodies.entries()) {
    const sent = toSent(wire.name, reported[index]);
    if (wire.name === "google") expect(body).toMatchObject(sent as object);
    else expect(body).toEqual(sent);
  }
  console.log(wire.name, JSON.stringify(result.cache), JSON.stringify(result.streamResults.map((r) => r.cache)));
  expect(recording.of("cache-break")).toEqual([]);
});
