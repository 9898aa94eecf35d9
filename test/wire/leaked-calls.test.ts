import { defineTool, type LoopResult, runToolLoop } from "turnwright";
import { describe, expect, it, onTestFinished } from "vitest";
import { type Adapter, adapters, specAdapters, vendorAdapters } from "./adapters.ts";
import type { Scripted } from "./scripted.ts";

const look = defineTool({
  name: "look",
  description: "Looks",
  inputSchema: { type: "object", properties: {} },
  execute: () => "seen",
});

const dsml =
  '<｜DSML｜tool_calls>\n<｜DSML｜invoke name="look">\n<｜DSML｜parameter name="q" string="true">x</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>';

const formats: readonly (readonly [of: string, text: string])[] = [
  ["DeepSeek V4", `I look.\n${dsml}\n`],
  ["DeepSeek V4, without the end of the section", dsml.slice(0, dsml.lastIndexOf("</"))],
  ["DeepSeek V4, with other bars", '<||DSML||tool_calls><||DSML||invoke name="look"></||DSML||invoke></||DSML||tool_calls>'],
  [
    "Kimi",
    "<|tool_calls_section_begin|><|tool_call_begin|>functions.look:0<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>",
  ],
  ["MiniMax", '<minimax:tool_call>\n<invoke name="look">\n</invoke>\n</minimax:tool_call>'],
  [
    "MiniMax M3",
    'Hm.]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name="look">]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>',
  ],
  ["MiniMax, as text", '[TOOL_CALL]\n{tool => "look", args => {}}\n[/TOOL_CALL]'],
  ["Qwen", "<tool_call>\n<function=look>\n</function>\n</tool_call>"],
  ["Hermes", '<tool_call>\n{"name": "look", "arguments": {}}\n</tool_call>'],
  ["GLM, without arguments", "<tool_call>look</tool_call>"],
  [
    "gpt-oss",
    `<|channel|>analysis<|message|>I look.<|end|><|start|>assistant<|channel|>commentary to=functions.look <|constrain|>json<|message|>{"q":"${"x".repeat(200)}"}<|call|>`,
  ],
  ["gpt-oss, without marks", `commentary to=functions.look json{"q":"${"x".repeat(200)}"}`],
];

const marks: readonly (readonly [mark: string])[] = [
  ["</tool_call>"],
  ["[/TOOL_CALL]"],
  ["</minimax:tool_call>"],
  ["<|tool_calls_section_end|>"],
];

/** The adapters find the calls with the same function, so these adapters with all formats are enough. */
const whole: ReadonlySet<Adapter> = new Set([...vendorAdapters, ...specAdapters.slice(-1)]);

interface Ran {
  readonly result: LoopResult;
  readonly bodies: readonly unknown[];
}

async function runOn({ open }: Adapter, answer: Scripted, tools = [look]): Promise<Ran> {
  const { provider, bodies, close } = await open([answer, { text: "Good.", end: "stop" }]);
  onTestFinished(close);
  return { result: await runToolLoop({ provider, tools, messages: [{ role: "user", content: "Go." }] }), bodies };
}

describe.for(adapters)("runToolLoop with $name and calls in the answer's text", (adapter) => {
  const isWhole = whole.has(adapter);
  const run = (answer: Scripted, tools?: (typeof look)[]): Promise<Ran> => runOn(adapter, answer, tools);

  it.for(isWhole ? formats : formats.slice(0, 1))(
    "asks the model again if the call has the format of %s, and does not run the call",
    async ([, text]) => {
      const { result, bodies } = await run({ text, end: "stop" });
      expect(result).toMatchObject({ status: "completed", text: "Good.", functionHistory: [] });
      expect(bodies).toHaveLength(2);
      expect(JSON.stringify(bodies[1])).toContain("Your last tool call was malformed.");
    },
  );

  it("accepts an answer that only quotes a call, and any answer if there are no tools", async () => {
    const quoted = `A call looks like this:\n\`\`\`\n${dsml}\n\`\`\``;
    const { result, bodies } = await run({ text: quoted, end: "stop" });
    expect([result.status, result.text, bodies.length]).toEqual(["completed", quoted, 1]);
    const bare = await run({ text: dsml, end: "stop" }, []);
    expect([bare.result.status, bare.bodies.length]).toEqual(["completed", 1]);
  });

  it.for(isWhole ? marks : [])("accepts an answer that ends with a sentence about the marker %s", async ([mark]) => {
    const named = `The call ends with ${mark}`;
    const { result, bodies } = await run({ text: named, end: "stop" });
    expect([result.status, result.text, bodies.length]).toEqual(["completed", named, 1]);
  });

  const texts: readonly (readonly [text: string])[] = [
    ['The mark "commentary to=functions.look" begins a call.'],
    ['commentary to=functions.other json{"q":"x"}'],
    ["The call ends with <|call|>"],
  ];
  it.for(isWhole ? texts : [])("accepts the answer %j, which only resembles a call in the format of gpt-oss", async ([text]) => {
    const { result, bodies } = await run({ text, end: "stop" });
    expect([result.status, result.text, bodies.length]).toEqual(["completed", text, 1]);
  });

  it("runs the tool calls of an answer even if its text ends like a call", async () => {
    const { result } = await run({ text: dsml, calls: [["call_1", "look", "{}"]], end: "tools" });
    expect(result).toMatchObject({ status: "completed", text: "Good.", functionHistory: [{ outcome: "completed" }] });
  });
});

// @ai-sdk/openai reads no reasoning of Chat Completions.
const reasoners = adapters.filter(({ name }) => !/@ai-sdk\/openai.*chat/.test(name));

it.for(reasoners)("$name: asks the model again if an answer without text contains a call in its reasoning", async (adapter) => {
  const reasoning = ["Hm.\n<tool_call>\n<function=look>\n</function>\n</tool_call>", "c2ln"] as const;
  const { result } = await runOn(adapter, { reasoning, end: "stop" });
  expect(result).toMatchObject({ status: "completed", text: "Good.", functionHistory: [] });
  const { bodies } = await runOn(adapter, { reasoning, text: "All is well.", end: "stop" });
  expect(bodies).toHaveLength(1);
});
