import {
  contextRestart,
  createContextStash,
  type LoopOptions,
  type LoopPolicies,
  processResults,
  structuredOutput,
} from "turnwright";
import { createResultCache } from "turnwright/cache";
import { createMockProvider, type MockScript, text, toolCall } from "turnwright/testing";
import type { Fault } from "../faults.ts";
import { tool } from "../play.ts";
import { called, type Port, type Ports, portsOf } from "./port.ts";

const skipped = (policies: (fault: never) => LoopPolicies, more: Partial<LoopOptions> = {}): Port => ({
  over: (fault) => ({ ...more, policies: policies(fault as never) }),
  ends: ["answered"],
  hangs: "answered",
});

/** For policies that return promises. The run does not await these promises, and ignores their failures. */
const atOnce = (policies: (fault: never) => LoopPolicies): Port => {
  const { over, ends } = skipped(policies);
  return { over, ends };
};

const looking: MockScript = ({ messages }, index) => {
  const [, id = ""] = /id \\"([0-9a-z-]+)\\"/.exec(JSON.stringify(messages)) ?? [];
  return [[text("Look: "), toolCall("t")], toolCall("read_part", { action: "head", id }), toolCall("t"), text("7")][index];
};

const store: (verb: string) => Port = (verb) => ({
  over: (fault) => {
    const texts = new Map<string, string>();
    const own = {
      write: (id: string, said: string) => void texts.set(id, said),
      read: (id: string) => texts.get(id),
      remove: (id: string) => void texts.delete(id),
      list: () => [...texts].map(([id, said]) => ({ id, bytes: said.length })),
      [verb]: fault,
    };
    // The cache has space for only one result, so the second result removes the first one.
    const { tool: look, cacher } = createResultCache({ store: own, maxBytes: 10_000 });
    const provider = createMockProvider(looking);
    return { provider, tools: [tool("t", () => "x".repeat(9_000)), look], policies: { results: processResults({ cacher }) } };
  },
  ends: ["answered"],
  hangs: "answered",
});

const restarting = called(() => contextRestart({ type: "context_restart_more", pending_context_key: "k" }));
const schema = (validate: Fault): never => ({ "~standard": { version: 1, vendor: "v", validate } }) as never;

export const judgingPorts: Ports = {
  "hooks.prepareIteration": {
    over: (fault) => ({ hooks: { prepareIteration: fault as never } }),
    ends: ["hook-failed", "answered"],
    hangs: "hook-failed",
  },
  "hooks.onIteration": {
    over: (fault) => ({ hooks: { onIteration: fault as never } }),
    ends: ["hook-failed", "answered"],
    hangs: "hook-failed",
  },
  "policies.approve": skipped((approve) => ({ approve })),
  "policies.stopWhen": {
    over: (fault) => ({ policies: { stopWhen: fault as never } }),
    ends: ["hook-failed"],
    hangs: "hook-failed",
  },
  "policies.output": {
    over: (fault) => ({ policies: { output: structuredOutput(schema(fault), { jsonSchema: {}, maxRetries: 0 }) } }),
    ends: ["invalid-output", "hook-failed"],
    hangs: "hook-failed",
  },
  "policies.results.processor": skipped((processor) => ({ results: processResults({ processor }) })),
  "policies.results.extractor": skipped((extract) => ({ results: processResults({ extractor: { threshold: 0, extract } }) })),
  "policies.results.cacher": skipped((keep) => ({ results: processResults({ cacher: { threshold: 0, store: keep } }) })),
  "policies.restarts.stash.take": skipped((take) => ({ restarts: { stash: { ...createContextStash(), take } } }), restarting),
  "policies.gate.retain": atOnce((retain) => ({ gate: { active: true, retain } })),
  "policies.gate.triggerMatchByToolName": atOnce((get) => ({ gate: { active: true, triggerMatchByToolName: { get } as never } })),
  "the pricing function": { over: (fault) => ({ pricing: fault as never }), ends: ["answered"] },
  ...portsOf("createResultCache's store.", ["write", "read", "remove", "list"], store),
};
