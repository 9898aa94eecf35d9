// Runs whose answers are typed values.

import assert from "node:assert/strict";
import { isTextUIPart, parsePartialJson, readUIMessageStream } from "ai";
import { z } from "zod";
import {
  defineAgentTool,
  defineTool,
  type Message,
  runToolLoop,
  type StandardSchema,
  streamToolLoop,
  structuredOutput,
} from "turnwright";
import { createPartialOutput, partialOutputs } from "turnwright/middleware";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { toUIMessageStream } from "turnwright/ui-message-stream";

const messages: readonly Message[] = [{ role: "user", content: "How is the weather in Oslo?" }];
const tools = [
  defineTool({
    name: "get_weather",
    description: "Current weather of a city",
    inputSchema: z.object({ city: z.string() }),
    execute: () => "rain, 7 degrees",
  }),
];

{
  const provider = createMockProvider([
    toolCall("get_weather", { city: "Oslo" }),
    text('It is raining: {"city":"Oslo","celsius":7}'),
    text('```json\n{"city":"Oslo","celsius":7}\n```'),
  ]);
  // #region output
  const schema = z.object({ city: z.string(), celsius: z.number() });
  const result = await runToolLoop({ provider, tools, messages, middleware: [structuredOutput(schema)] });
  if (result.output !== undefined) console.log(`${result.output.city}: ${result.output.celsius} degrees`);
  // The model's first answer contained text around the JSON. After an error message, its second answer was valid.
  // #endregion output
  assert.deepEqual(result.output, { city: "Oslo", celsius: 7 });
  assert.equal(result.iterations, 3);
}

{
  const provider = createMockProvider(() => text("It is raining."));
  const schema = z.object({ city: z.string() });
  // #region invalid
  const { reason, text: said } = await runToolLoop({
    provider,
    messages,
    middleware: [structuredOutput(schema, { maxRetries: 1 })],
  });
  // reason.kind is "invalid-output", and reason.attempts is 2. reason.issues describes the problem. `said` is "It is raining."
  // #endregion invalid
  assert.equal(reason.kind === "invalid-output" ? reason.attempts : 0, 2);
  assert.equal(said, "It is raining.");
}

{
  const provider = createMockProvider([text('"yes"')]);
  const yesOrNo: StandardSchema<unknown, "yes" | "no"> = {
    "~standard": {
      version: 1,
      vendor: "own",
      validate: (value) => (value === "yes" || value === "no" ? { value } : { issues: [{ message: "must be yes or no" }] }),
    },
  };
  const { output } = await runToolLoop({
    provider,
    messages,
    middleware: [structuredOutput(yesOrNo, { jsonSchema: { enum: ["yes", "no"] } })],
  });
  // The type of `output` is "yes" | "no" | undefined.
  assert.equal(output satisfies "yes" | "no" | undefined, "yes");
}

{
  const judge = defineAgentTool({
    name: "judge",
    description: "Rates a text",
    inputSchema: z.object({ essay: z.string() }),
    prepare: ({ essay }) => ({
      messages: [{ role: "user", content: `Rate this from 1 to 10: ${essay}` }],
      middleware: [structuredOutput(z.object({ points: z.number().int().min(1).max(10) }))],
    }),
  });
  const provider = createMockProvider([toolCall("judge", { essay: "Rain." }), text('{"points":3}'), text("Three points.")]);
  const { functionHistory } = await runToolLoop({ provider, tools: [judge], messages });
  assert.deepEqual(functionHistory[0]?.functionResponse.response.result, { points: 3 });
}

{
  const provider = createMockProvider([[text('{"city":"Os'), text('lo","celsius":7}')]]);
  const shown: string[] = [];
  const console = { log: (line: string): unknown => shown.push(line) };
  // #region partial
  const schema = z.object({ city: z.string(), celsius: z.number() });
  const stream = streamToolLoop({ provider, messages, middleware: [structuredOutput(schema)] });
  for await (const { city = "", celsius = "?" } of partialOutputs(stream)) console.log(`${city}: ${celsius}`);
  const { output } = await stream.result;
  // Writes a line each time that the value has grown, such as "Os: ?" and "Oslo: 7". `output` is the validated value.
  // #endregion partial
  assert.deepEqual([shown, output], [["Os: ?", "Oslo: 7"], { city: "Oslo", celsius: 7 }]);
}

{
  // A page with `useChat` reads the value from the text.
  const provider = createMockProvider([[text('{"city":"Os'), text('lo","celsius":7}')]]);
  const middleware = [structuredOutput(z.object({ city: z.string(), celsius: z.number() }))];
  const shown = new Set<string>();
  const stream = toUIMessageStream(streamToolLoop({ provider, messages, middleware }), { version: 6 });
  for await (const { parts } of readUIMessageStream({ stream })) {
    const { value } = await parsePartialJson(parts.findLast(isTextUIPart)?.text);
    if (value !== undefined) shown.add(JSON.stringify(value));
  }
  assert.deepEqual([...shown], ['{"city":"Os"}', '{"city":"Oslo","celsius":7}']);
}

{
  const provider = createMockProvider([[text('{"city":"Os'), text('lo","celsius":7}')]]);
  const shown: unknown[] = [];
  const console = { log: (value: unknown): unknown => shown.push(value) };
  // #region take
  const output = structuredOutput(z.object({ city: z.string(), celsius: z.number() }));
  const partial = createPartialOutput(output);
  for await (const event of streamToolLoop({ provider, messages, middleware: [output] })) {
    const value = partial.take(event);
    if (value !== undefined) console.log(value);
  }
  // #endregion take
  assert.deepEqual(shown, [{ city: "Os" }, { city: "Oslo", celsius: 7 }]);
}

{
  const provider = createMockProvider([text('{"city":"Oslo"}')]);
  const schema = z.object({ city: z.string() });
  const { output } = await runToolLoop({ provider, messages, middleware: [structuredOutput(schema, { native: false })] });
  assert.deepEqual(output, { city: "Oslo" });
}
