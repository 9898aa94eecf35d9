import { expect, it } from "vitest";
import type { LoopHooks, LoopOptions, LoopPolicies, Session } from "turnwright";
import type { IterationAnswer, IterationState, IterationPlan, IterationView } from "turnwright/parts";
import { readNames, readPage, readRows, readSection } from "./read-page.ts";

const page = readPage("docs/guides/options.md");

/** An object with every property name of `Type`. A missing or unknown name does not compile. */
type Names<Type> = { readonly [Name in keyof Required<Type>]: true };

const options: Names<LoopOptions> = {
  provider: true,
  tools: true,
  messages: true,
  system: true,
  modelSettings: true,
  toolChoice: true,
  contextItems: true,
  messageIdMap: true,
  repair: true,
  limits: true,
  timeouts: true,
  pricing: true,
  policies: true,
  hooks: true,
  control: true,
  signal: true,
  events: true,
  journal: true,
  runId: true,
  version: true,
  resume: true,
  decisions: true,
  clock: true,
  session: true,
  context: true,
};

const policies: Names<LoopPolicies> = {
  gate: true,
  approve: true,
  allowToolChange: true,
  restarts: true,
  preToolText: true,
  finalAnswer: true,
  stopWhen: true,
  loopDetection: true,
  output: true,
  results: true,
  masking: true,
  compaction: true,
  promptCache: true,
  guardrails: true,
  handoffs: true,
};

const session: Names<Session> = {
  conversationId: true,
  userId: true,
  locale: true,
  responseTarget: true,
  surfaceUserErrors: true,
  detailsLabel: true,
};

const hooks: Names<LoopHooks> = { prepareIteration: true, onIteration: true };

const view: Names<IterationView> = {
  iteration: true,
  messages: true,
  tools: true,
  system: true,
  modelSettings: true,
  toolChoice: true,
  usage: true,
};
const plan: Names<IterationPlan> = { provider: true, modelSettings: true, tools: true, toolChoice: true, system: true };
const state: Names<IterationState> = { iteration: true, cumulativeCost: true, messageCount: true, lastToolCalls: true };
const answer: Names<IterationAnswer> = { abort: true, reason: true };

it.for<[section: string, names: object]>([
  ["Options and hooks", options],
  ["Policies", policies],
  ["Session", session],
])('docs/guides/options.md: lists every option under "%s" once', ([section, names]) => {
  const listed = readRows(readSection(page, section)).map(([cell = ""]) => readNames(cell)[0]);
  expect(listed).toEqual(Object.keys(names));
});

it("docs/guides/options.md: lists every hook with the fields of its input and result", () => {
  const listed = readRows(readSection(page, "Hooks")).map(([hook = "", , gets = "", gives = ""]) => [
    hook.replace(/\(.*/, "").replace("`", ""),
    readNames(gets),
    readNames(gives),
  ]);
  expect(listed.map(([name]) => name)).toEqual(Object.keys(hooks));
  expect(listed).toEqual([
    ["prepareIteration", Object.keys(view), Object.keys(plan)],
    ["onIteration", Object.keys(state), Object.keys(answer)],
  ]);
});
