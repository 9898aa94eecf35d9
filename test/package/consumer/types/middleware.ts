import {
  type LoopOptions,
  type LoopResult,
  type LoopStream,
  type Message,
  type Middleware,
  type Provider,
  type Tool,
  type ToolRegistry,
  runToolLoop,
} from "turnwright";
import type { DeliberateGate, LoopEmitter } from "turnwright/kit";
import {
  type AgentHandoffs,
  type AgentOptions,
  type CompactedMessages,
  type DeepPartial,
  type HistoryFilter,
  type InputCheck,
  type MemberReport,
  type OutputCheck,
  type PartialOutput,
  type RunNode,
  type Team,
  type ToolCheck,
  compactMessages,
  createDeliberateMode,
  createHandoffs,
  createPartialOutput,
  createTeam,
  guardrails,
  partialOutputs,
  planLogs,
  showTeam,
  watchPromptCache,
  withPlanner,
  withToolSearch,
  withoutToolCalls,
} from "turnwright/middleware";

// compaction
const compaction: Parameters<typeof compactMessages>[0] = {
  when: 0.8,
  keep: 30_000,
  contextWindow: (_, model) => (model === "large" ? 1_000_000 : undefined),
};

export function goOn(
  provider: Provider,
  messages: readonly Message[],
  earlier: CompactedMessages | undefined,
): Promise<LoopResult> {
  return runToolLoop({ provider, messages, middleware: [compactMessages(compaction).startWith(earlier)] });
}

// deliberate
export function gateFor(text: string): DeliberateGate {
  return createDeliberateMode({ triggers: { look: "look it up" } }).forTurn({ text });
}

// guardrails
export const spendingCheck = (result: LoopResult): InputCheck => ({
  name: "spends",
  check: () => ({ kind: "pass", spent: result }),
});

const judge: InputCheck["check"] = async ({ text, newMessages }, { signal, session }) => {
  signal.throwIfAborted();
  if (newMessages.length > 3) return { kind: "refuse", reason: session.userId, info: { count: newMessages.length } };
  return { kind: text === "" ? "refuse" : "pass" };
};

const redact: OutputCheck["check"] = ({ text, part }) =>
  part === "text" ? { kind: "rewrite", text: text.trim() } : { kind: "pass" };

const deny: ToolCheck["check"] = ({ name }) => ({ kind: "refuse", reason: name, endsRun: true });

export const input: InputCheck = { name: "judge", check: judge };
export const output: OutputCheck = { name: "redact", window: 40, parts: ["text"], check: redact };
export const call: ToolCheck = { name: "deny", check: deny };
export const checked: Parameters<typeof guardrails>[0] = { input: [input], output: [output], tools: [call] };
export const policy: Middleware = guardrails(checked);

// handoffs
const history: HistoryFilter = (messages) => withoutToolCalls(messages).slice(-5);
const billing: AgentOptions = { description: "Knows invoices.", history, handoffs: ["triage"], tools: ["find_invoice"] };

export const handedOver: Parameters<typeof createHandoffs>[0] = {
  start: "triage",
  maxHandoffs: 3,
  agents: { triage: { description: "Finds out the topic.", handoffs: ["billing"] }, billing },
};
export const agents: AgentHandoffs = createHandoffs(handedOver);

export async function next(
  result: LoopResult,
  provider: Parameters<typeof runToolLoop>[0]["provider"],
): Promise<NonNullable<LoopResult["handoffs"]>> {
  const current = agents.startWith(result.agent);
  const { handoffs = [] } = await runToolLoop({
    provider,
    messages: result.messages,
    tools: current.tools,
    middleware: [current],
  });
  return handoffs;
}

// partial output
interface Report {
  readonly days: readonly { readonly celsius: number }[];
}

export const partial: PartialOutput<Report> = createPartialOutput<Report>();

export async function last(stream: LoopStream<Report>): Promise<DeepPartial<Report> | undefined> {
  let value: DeepPartial<Report> | undefined;
  for await (value of partialOutputs(stream)) void value.days?.[0]?.celsius?.toFixed();
  return value;
}

// plan
export async function plan(model: Provider, options: Parameters<typeof withPlanner>[1]): Promise<readonly string[]> {
  const provider = withPlanner(model, { ...options, maxRounds: 3 });
  const result = await runToolLoop({ provider, messages: [{ role: "user", content: "May we sail?" }] });
  return Array.from(planLogs(result), ({ purpose, success }) => `${purpose}: ${success}`);
}

// prompt cache
/** Returns the share of the prefix that the requests kept, and the kinds of the changes that broke the cache. */
export async function watch(options: LoopOptions): Promise<readonly [share: number, kinds: readonly string[]]> {
  const { cache }: LoopResult = await runToolLoop({ ...options, middleware: [watchPromptCache()] });
  return [cache?.share ?? 1, (cache?.breaks ?? []).map(({ cause }) => cause.kind)];
}

// team
export const teamOptions: Parameters<typeof createTeam>[0] = {
  members: { writer: { description: "Writes", system: "Write.", limits: { maxTokens: 1_000 }, maxTasks: 2 } },
};

export const team: Team = createTeam(teamOptions);

export const isDone = ({ status }: MemberReport): boolean => status === "completed";

export const labelOf = ({ name, state }: RunNode): string => `${name} ${state}`;

export function show(events: LoopEmitter): () => void {
  return showTeam(events, { output: process.stdout });
}

// tool search
export const searchOptions: Parameters<typeof withToolSearch>[1] = {
  defer: ({ name }) => name !== "look",
  maxResults: 3,
  maxTokens: 900,
};

export function searchable(tools: readonly Tool[]): ToolRegistry {
  return withToolSearch(tools, searchOptions);
}
