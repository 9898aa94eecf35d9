import {
  approve,
  contextRestarts,
  gateTools,
  contextRestart,
  createContextStash,
  type LoopOptions,
  maskResults,
  type Middleware,
  onIteration,
  prepareIteration,
  processResults,
  stopWhen,
  structuredOutput,
} from "turnwright";
import { createResultCache } from "turnwright/cache";
import { createMockProvider, type MockScript, text, toolCall } from "turnwright/testing";
import type { Fault } from "../faults.ts";
import { tool } from "../play.ts";
import { called, type Port, type Ports, portsOf } from "./port.ts";

const skipped = (middleware: (fault: never) => Middleware, more: Partial<LoopOptions> = {}): Port => ({
  over: (fault) => ({ ...more, middleware: [middleware(fault as never)] }),
  ends: ["answered"],
  hangs: "answered",
});

/** For policies that return promises. The run does not await these promises, and ignores their failures. */
const atOnce = (middleware: (fault: never) => Middleware): Port => {
  const { over, ends } = skipped(middleware);
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
    return {
      provider,
      tools: [tool("t", () => "x".repeat(9_000)), look],
      middleware: [maskResults(), processResults({ cacher })],
    };
  },
  ends: ["answered"],
  hangs: "answered",
});

const restarting = called(() => contextRestart({ type: "context_restart_more", pending_context_key: "k" }));
const schema = (validate: Fault): never => ({ "~standard": { version: 1, vendor: "v", validate } }) as never;

export const judgingPorts: Ports = {
  "the function of prepareIteration": {
    over: (fault) => ({ middleware: [prepareIteration(fault as never)] }),
    ends: ["hook-failed", "answered"],
    hangs: "hook-failed",
  },
  "the function of onIteration": {
    over: (fault) => ({ middleware: [onIteration(fault as never)] }),
    ends: ["hook-failed", "answered"],
    hangs: "hook-failed",
  },
  "the function of approve": skipped((decide) => approve(decide)),
  "a condition of stopWhen": {
    over: (fault) => ({ middleware: [stopWhen(fault as never)] }),
    ends: ["hook-failed"],
    hangs: "hook-failed",
  },
  "the schema of structuredOutput": {
    over: (fault) => ({ middleware: [structuredOutput(schema(fault), { jsonSchema: {}, maxRetries: 0 })] }),
    ends: ["invalid-output", "hook-failed"],
    hangs: "hook-failed",
  },
  "the processor of processResults": skipped((processor) => processResults({ processor })),
  "the extractor of processResults": skipped((extract) => processResults({ extractor: { threshold: 0, extract } })),
  "the cacher of processResults": skipped((keep) => processResults({ cacher: { threshold: 0, store: keep } })),
  "the stash of contextRestarts": skipped((take) => contextRestarts({ stash: { ...createContextStash(), take } }), restarting),
  "retain of gateTools": atOnce((retain) => gateTools({ active: true, retain })),
  "triggerMatchByToolName of gateTools": atOnce((get) => gateTools({ active: true, triggerMatchByToolName: { get } as never })),
  "the pricing function": { over: (fault) => ({ pricing: fault as never }), ends: ["answered"] },
  ...portsOf("createResultCache's store.", ["write", "read", "remove", "list"], store),
};
