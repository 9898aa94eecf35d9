// The tools of random programs: those that fail, hang, ask, wait or return media, and agents.

import {
  ask,
  contextRestart,
  createContextRelease,
  defineAgentTool,
  defineTool,
  type JsonSchema,
  type Provider,
  type Tool,
  type ToolContext,
  toolResult,
} from "turnwright";
import { jpeg, pdf, png } from "./rule-case.ts";

const never = new Promise<never>(() => {});

const image = (data: string, mediaType: string) => ({ type: "image" as const, mediaType, data });

const executes: { readonly [name: string]: (context: ToolContext) => unknown } = {
  quick: () => ({ seen: "x".repeat(3_000) }),
  fails: () => toolResult({ success: false, data: "It failed." }),
  throws: () => {
    throw new Error("Half \ud83d of an error");
  },
  hangs: () => never,
  image: () => toolResult({ data: "seen", content: [image(png(), "image/png"), image(jpeg, "image/jpeg")] }),
  wrong_type: () => toolResult({ data: "seen", content: [image(png(), "image/jpeg"), image("Qk0AAA==", "image/bmp")] }),
  failed_image: () => toolResult({ success: false, data: "failed", content: [image(png(), "image/png")] }),
  pdf: () => toolResult({ data: "read", content: [{ type: "file", mediaType: "application/pdf", data: pdf }] }),
  halves: () => ({ ["key \ud83d"]: "value \udc00 \u0000" }),
  empty: () => "",
  ends: () => toolResult({ data: "over", endTurn: true }),
  asks: async (context) => ({ said: await ask(context, { question: "Which one \ud83d?" }) }),
  restarts: () =>
    contextRestart({
      type: "context_restart_more",
      enhanced_context_item: { at: "home \udc00" },
      disable_tools: ["image", "union"],
    }),
};

const schemas: { readonly [name: string]: JsonSchema } = {
  union: {
    oneOf: [
      { type: "object", properties: { kind: { const: "a" }, n: { type: "number" } }, required: ["kind"] },
      {
        type: "object",
        properties: { kind: { const: "b" }, list: { type: "array", items: { type: "string" } } },
        required: ["kind"],
      },
    ],
  },
};

/** Tools that continue in a way other than with a result. */
export const oddTools: readonly string[] = ["pays", "asks", "restarts", "outside", "release", "agent"];

export const toolNames: readonly string[] = [
  ...Object.keys(executes).filter((name) => !oddTools.includes(name)),
  "1look",
  "_look",
  "-look",
  "union",
  "alone",
  "n".repeat(64),
];

/** Arguments for tools that would refuse those of the script. */
export const argsFor: { readonly [name: string]: string } = {
  find_tools: '{"query":"fails union image look pays agent"}',
  context_release: '{"call_ids":["call_i0_0"]}',
};

/** Makes a tool. `connect` makes the provider of a nested run. */
export function toTool(name: string, connect: () => Provider): Tool {
  if (name === "release") return createContextRelease();
  if (name === "agent") return toAgent(connect);
  const { [name]: execute = () => ({ seen: "x" }) } = executes;
  const fields = {
    name,
    description: `Tool ${name} \ud83d`,
    inputSchema: schemas[name] ?? { type: "object", properties: { at: { type: "string" } } },
  };
  if (name === "outside") return fields;
  return defineTool({
    ...fields,
    replay: "safe",
    timeoutMs: 50,
    ...(name === "alone" ? { sequential: true } : {}),
    ...(name === "pays" ? { needsApproval: true } : {}),
    ...(name === "asks" ? { durable: true } : {}),
    execute: (_, context) => execute(context),
  });
}

const innerNames = ["quick", "pays", "asks", "image"];

function toAgent(connect: () => Provider): Tool {
  return defineAgentTool({
    name: "agent",
    description: "Asks another agent",
    inputSchema: { type: "object", properties: { at: { type: "string" } } },
    prepare: () => ({
      provider: connect(),
      system: "You are another agent.",
      tools: innerNames.map((name) => toTool(name, connect)),
      messages: [{ role: "user", content: "Look \ud83d." }],
      limits: { maxIterations: 3 },
    }),
  });
}
