// A typed answer that grows on the screen while the model writes. A script plays the model.

import assert from "node:assert/strict";
import { z } from "zod";
import { type Provider, streamToolLoop, structuredOutput } from "turnwright";
import { type DeepPartial, partialOutputs } from "turnwright/middleware";
import { createMockProvider, text, toolCall } from "turnwright/testing";

const report = z.object({ title: z.string(), days: z.array(z.object({ day: z.string(), celsius: z.number() })) });
type Report = z.infer<typeof report>;

const forecast = {
  name: "get_forecast",
  description: "Forecast of a city",
  inputSchema: { type: "object" },
  execute: () => "Monday 7, Tuesday 9",
} as const;

const answer = '{"title":"Oslo","days":[{"day":"Monday","celsius":7},{"day":"Tuesday","celsius":9}]}';
const script = createMockProvider([toolCall("get_forecast"), answer.split(/(?<=[,\]])/).map((piece) => text(piece))]);
// Adapters for real services set `structuresOutput`. The request then contains the schema as a field, and the system text does not
// contain it.
const provider: Provider = Object.assign(script, { structuresOutput: true });

function render({ title = "", days = [] }: DeepPartial<Report>): string {
  return `${title}: ${days.map(({ day = "…", celsius = "…" }) => `${day} ${celsius}`).join(", ")}`;
}

const stream = streamToolLoop({
  provider,
  tools: [forecast],
  messages: [{ role: "user", content: "How is the weather in Oslo?" }],
  middleware: [structuredOutput(report)],
});
const lines: string[] = [];
for await (const partial of partialOutputs(stream)) {
  lines.push(render(partial));
  console.log(lines.at(-1));
}
const { output } = await stream.result;

assert.deepEqual(output, JSON.parse(answer));
assert.deepEqual(lines, ["Oslo: ", "Oslo: Monday …", "Oslo: Monday 7", "Oslo: Monday 7, Tuesday …", "Oslo: Monday 7, Tuesday 9"]);
assert.deepEqual(
  script.requests.map(({ system, output: sent }) => [system, sent?.schema["type"]]),
  [
    [undefined, "object"],
    [undefined, "object"],
  ],
);
