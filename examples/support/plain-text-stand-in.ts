// A model that follows fixed rules. It reads a prompt as text, and writes a plan or an answer as text.

import { z } from "zod";

export interface PlainTextModel {
  readonly texts: readonly string[];
  complete(prompt: string): AsyncIterable<string>;
}

/** The model can only plan trips. */
export function createPlainTextModel(): PlainTextModel {
  const texts: string[] = [];
  async function* complete(prompt: string): AsyncGenerator<string> {
    const at = texts.push("") - 1;
    for (const piece of thinkOf(prompt).match(/.{1,12}/gs) ?? []) {
      await Promise.resolve();
      texts[at] += piece;
      yield piece;
    }
  }
  return { texts, complete };
}

const task = z.object({
  user_input: z.string(),
  available_tools: z.array(z.object({ tool_name: z.string() })),
  done_plans: z.array(z.object({ tool_name: z.string(), success: z.boolean(), result: z.json() })),
});
const findings = z.object({ action_results: z.record(z.string(), z.json()) });

function thinkOf(prompt: string): string {
  const [, said] = /\n\n(\{\n(?:(?!\n\n).)*)\n\nModel:$/s.exec(prompt) ?? [];
  if (said === undefined) return "I can only plan trips.";
  const data: unknown = JSON.parse(said);
  const planning = task.safeParse(data);
  return planning.success ? planOf(planning.data) : answerOf(findings.parse(data));
}

/** Real models put text and code fences around the JSON, and add trailing commas. So does this plan. */
function planOf({ user_input, available_tools, done_plans }: z.infer<typeof task>): string {
  const [, from = "", to = ""] = /from (\w+) to (\w+)/.exec(user_input) ?? [];
  const found = new Map(done_plans.filter(({ success }) => success).map(({ tool_name, result }) => [tool_name, result]));
  const train = z.object({ priceNOK: z.number() }).safeParse(found.get("find_train"));
  const wanted = [
    { purpose: "train", tool_name: "find_train", tool_kwargs: { from, to } },
    { purpose: "weather", tool_name: "get_forecast", tool_kwargs: { city: to } },
    {
      purpose: "price in euros",
      tool_name: "convert_money",
      tool_kwargs: { amount: train.data?.priceNOK, from: "NOK", to: "EUR" },
    },
  ];
  const commands = wanted.filter(
    ({ tool_name }) =>
      available_tools.some((tool) => tool.tool_name === tool_name) &&
      !found.has(tool_name) &&
      (tool_name !== "convert_money" || train.success),
  );
  if (commands.length === 0)
    return '```json\n{ "next_action": "response", "execution_commands": [] }\n```\nAll that was asked for is known.';
  const list = commands.map((command) => `    ${JSON.stringify(command)},\n`).join("");
  return `Here is my plan:\n\`\`\`json\n{\n  "next_action": "execute",\n  "execution_commands": [\n${list}  ],\n}\n\`\`\``;
}

/** If a tool failed and then succeeded, the answer uses the later result. */
function answerOf({ action_results }: z.infer<typeof findings>): string {
  const results = Object.entries(action_results);
  const last = (purpose: string): unknown =>
    results.filter(([key]) => key === purpose || key.startsWith(`${purpose} (`)).at(-1)?.[1];
  const train = z.object({ leaves: z.string() }).safeParse(last("train"));
  const weather = z.object({ sky: z.string() }).safeParse(last("weather"));
  const euros = z.number().safeParse(last("price in euros"));
  if (!train.success || !euros.success) return "I could not find a train.";
  const coat = weather.data?.sky === "rain" ? " Take a raincoat." : "";
  return `The train leaves at ${train.data.leaves} and costs ${euros.data} euros.${coat}`;
}
