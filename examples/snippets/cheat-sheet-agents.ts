// A summary for llms.txt: guardrails and handoffs. If a type here differs from the real type, the compiler reports an error.

import type {
  Approve,
  Middleware,
  Json,
  Message,
  ModelSettings,
  Provider,
  Session,
  Tool,
  ToolCall,
  ToolChoice,
  Usage,
  UserMessage,
} from "turnwright";
import type { Handoffs } from "turnwright/middleware";
import type * as middleware from "turnwright/middleware";
import { type ArgumentOf, type Differing, expectNone } from "./same-names.ts";

type ApprovalContext = Parameters<Approve>[1];
type Rewriting = Awaited<ReturnType<middleware.OutputCheck["check"]>>;
type Judging = Awaited<ReturnType<middleware.ToolCheck["check"]>>;

// #region guardrails
interface GuardrailsEntry {
  // put it before approve; a check that throws or takes longer than timeouts.callbackMs ends the run as "hook-failed"
  guardrails(options: {
    input?: readonly InputCheck[]; // run at the same time as the request; nothing is shown and no tool runs before they have passed
    output?: readonly OutputCheck[]; // run in order, on the text and the reasoning of each response, before it is shown or recorded
    tools?: readonly ToolCheck[]; // run in order, before approve
  }): Middleware;
}

interface InputCheck {
  name: string;
  check(input: CheckedInput, context: CheckContext): Refusable | PromiseLike<Refusable>; // "input-guardrail"
}

interface CheckedInput {
  text: string; // the texts of newMessages
  newMessages: readonly UserMessage[]; // at the start of the run, and after control.steer
  messages: readonly Message[];
}

interface OutputCheck {
  name: string;
  check(output: CheckedOutput, context: CheckContext): OutputVerdict | PromiseLike<OutputVerdict>; // "output-guardrail"
  window?: number; // characters that are held back while the text streams; default: everything until the text is complete
  parts?: readonly ("text" | "reasoning")[]; // both
}

interface CheckedOutput {
  text: string; // the whole text so far
  part: "text" | "reasoning";
  isComplete: boolean;
  hasCalls: boolean;
}

interface ToolCheck {
  name: string;
  // "refuse" denies the call, and with endsRun ends the run as "tool-guardrail"
  check(call: ToolCall, context: ApprovalContext): ToolVerdict | PromiseLike<ToolVerdict>;
}

interface CheckContext {
  runId: string;
  iteration: number;
  session: Session;
  context: unknown;
  signal: AbortSignal;
}

type Spending = { spent?: { usage: Usage; costUSD?: number } }; // counts towards the run; a LoopResult fits
type Refusable = ({ kind: "pass" } | { kind: "refuse"; reason?: string; info?: Json }) & Spending;
type OutputVerdict = Refusable | ({ kind: "rewrite"; text: string } & Spending);
type ToolVerdict = { kind: "pass" } | { kind: "rewrite"; args: Json } | { kind: "refuse"; reason?: string; endsRun?: boolean };
// #endregion guardrails

// #region handoffs
interface HandoffsEntry {
  // pass it as createHandoffs, and its `tools` in the option tools; the model hands over with transfer_to_NAME
  createHandoffs<Name extends string>(options: {
    agents: Record<Name, AgentOptions>;
    start: NoInfer<Name>;
    maxHandoffs?: number; // 10; a further handoff ends the run as "handoff-cap"
  }): AgentHandoffs<Name>;
  withoutToolCalls(messages: readonly Message[]): readonly Message[]; // a `history`: only text
}

interface AgentHandoffs<Name extends string> extends Handoffs {
  tools: readonly Tool[];
  startWith(agent: string | undefined): AgentHandoffs<Name>; // result.agent, for the next run of the conversation
}

interface AgentOptions {
  description: string; // its tasks, which the other agents read
  system?: string; // these fields default to the options of the run
  provider?: Provider;
  modelSettings?: ModelSettings;
  toolChoice?: ToolChoice;
  tools?: readonly (Tool | string)[]; // []; every agent also has the tools of the run that no agent lists
  handoffs?: readonly string[]; // []; names of agents
  history?: (messages: readonly Message[]) => readonly Message[]; // filters the messages before the handoff
}
// #endregion handoffs

expectNone<Differing<Parameters<GuardrailsEntry["guardrails"]>[0], ArgumentOf<typeof middleware.guardrails>>>();
expectNone<Differing<InputCheck, middleware.InputCheck>>();
expectNone<Differing<CheckedInput, Parameters<middleware.InputCheck["check"]>[0]>>();
expectNone<Differing<OutputCheck, middleware.OutputCheck>>();
expectNone<Differing<CheckedOutput, Parameters<middleware.OutputCheck["check"]>[0]>>();
expectNone<Differing<ToolCheck, middleware.ToolCheck>>();
expectNone<Differing<CheckContext, Parameters<middleware.InputCheck["check"]>[1]>>();
expectNone<Differing<Parameters<HandoffsEntry["createHandoffs"]>[0], ArgumentOf<typeof middleware.createHandoffs>>>();
expectNone<Differing<AgentHandoffs<string>, middleware.AgentHandoffs>>();
expectNone<Differing<AgentOptions, middleware.AgentOptions>>();
expectNone<Exclude<OutputVerdict["kind"], Rewriting["kind"]>>();
expectNone<Exclude<Rewriting["kind"], OutputVerdict["kind"]>>();
expectNone<Exclude<Judging["kind"], ToolVerdict["kind"]>>();

export type { GuardrailsEntry, HandoffsEntry };
