import { approve, defineAgentTool, type LoopOptions, type ToolRegistry, eagerTools, runNested } from "turnwright";
import { createMockProvider, text } from "turnwright/testing";
import { type Fault, once } from "../faults.ts";
import { never, tool } from "../play.ts";
import { after, called, type Port, type Ports, portsOf, question, usualProvider } from "./port.ts";

const stream = (iterator: Fault): Partial<LoopOptions> => ({
  provider: { id: "p", model: "m", stream: () => ({ [Symbol.asyncIterator]: iterator }) as never },
});
const said = { done: false, value: { type: "text-delta", text: "Look: " } };

const definition = { name: "t", description: "", inputSchema: {} };
const registry = (verbs: { readonly [Verb in keyof ToolRegistry]?: unknown }): Partial<LoopOptions> => ({
  tools: { definitions: () => [definition], executeTool: () => 1, ...verbs } as ToolRegistry,
});

const agent = (verbs: { readonly prepare?: Fault; readonly toResult?: Fault }): Partial<LoopOptions> => {
  const prepare = (): object => ({ messages: question, provider: createMockProvider([text("In.")]) });
  const made = { name: "t", description: "", inputSchema: { type: "object" }, prepare, toResult: () => 1, ...verbs };
  return { tools: [defineAgentTool(made as Parameters<typeof defineAgentTool>[0])] };
};

const forModel = (over: Port["over"], ends: readonly string[] = []): Port => ({
  over,
  ends: ["answered", ...ends],
  hangs: "answered",
});

const schema = (validate: Fault): never => ({ "~standard": { version: 1, vendor: "v", validate } }) as never;

export const workingPorts: Ports = {
  "provider.stream": {
    over: (fault) => ({ provider: { id: "p", model: "m", stream: fault as never } }),
    ends: ["provider-error"],
  },
  "the first next() of a stream": {
    over: (fault) => stream(() => ({ next: fault })),
    ends: ["provider-error"],
    hangs: "first-chunk",
  },
  "the second next() of a stream": {
    over: (fault) => stream(() => ({ next: once(said, fault) })),
    ends: ["provider-error"],
    hangs: "stream-idle",
  },
  // The stream has already timed out, so the run ignores the result of `return()`.
  "the return() of a stream that sends nothing": {
    over: (fault) => stream(() => ({ next: () => never, return: fault, throw: fault })),
    ends: ["first-chunk"],
    hangs: "first-chunk",
  },
  "the return() of a finished stream": {
    over: (fault) => {
      const inner = usualProvider();
      const open: typeof inner.stream = (request, call) => {
        const iterator = inner.stream(request, call)[Symbol.asyncIterator]();
        return { [Symbol.asyncIterator]: () => ({ next: () => iterator.next(), return: fault as never }) };
      };
      return { provider: { id: "p", model: "m", stream: open } };
    },
    ends: ["answered"],
  },
  ...portsOf("registry.definitions() at the start, on call ", [1], (call) => ({
    over: (fault) => registry({ definitions: after(call - 1, () => [definition], fault) }),
    // An empty list is one of the tested values. It is valid, so the run may also end as "answered".
    ends: ["thrown", "invalid-option", "answered"],
  })),
  ...portsOf("registry.definitions() on call ", [2, 3, 4], (call) => ({
    over: (fault) => registry({ definitions: after(call - 1, () => [definition], fault) }),
    ends: ["hook-failed", "answered"],
  })),
  ...portsOf("registry.definitions() (with approve) on call ", [2, 3, 4], (call) => ({
    over: (fault) => ({
      ...registry({ definitions: after(call - 1, () => [definition], fault) }),
      middleware: [approve(() => ({ kind: "approve" }))],
    }),
    ends: ["hook-failed", "answered"],
  })),
  "registry.executeTool": forModel((fault) => registry({ executeTool: fault })),
  "registry.validate": forModel((fault) => registry({ validate: fault })),
  "tool.execute": forModel((fault) => called(fault)),
  "tool.execute of a sequential tool": forModel((fault) => called(fault, { sequential: true })),
  "tool.execute of an eager tool": forModel((fault) => ({
    ...called(fault, { eager: true }),
    middleware: [eagerTools()],
  })),
  "tool.execute of a tool with retry": forModel((fault) => called(fault, { idempotent: true, retry: { maxAttempts: 3 } })),
  "tool.needsApproval": forModel(
    (fault) => ({ ...called(() => 1, { needsApproval: fault as () => boolean }), middleware: [approve()] }),
    ["approval-required"],
  ),
  "the validate function of a tool's schema": forModel((fault) =>
    called(() => 1, { inputSchema: schema(fault), jsonSchema: {} }),
  ),
  "prepare of an agent tool": forModel((fault) => agent({ prepare: fault })),
  "toResult of an agent tool": forModel((fault) => agent({ toResult: fault })),
  "the provider of a nested run": forModel((fault) => ({
    tools: [
      tool("t", async (_, context) => {
        const provider = { id: "p", model: "m", stream: () => ({ [Symbol.asyncIterator]: () => ({ next: fault }) }) as never };
        return (await runNested(context, { messages: question, provider })).status;
      }),
    ],
  })),
};
