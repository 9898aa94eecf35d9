import { assertTool, checkFields, type Checks, invalidOption, is, isRecord, needed, requestChecks } from "../../core/kit.ts";
import { providerCheck } from "../../shared/errors/provider-checks.ts";
import { cutText, quote } from "../../shared/texts.ts";
import { isFunction, isText, isWithin } from "../../shared/errors/check-fields.ts";
import { LoopError, type Middleware, type Tool } from "../../core/index.ts";
import { listTools } from "../../shared/list-tools.ts";
import type { AgentOptions, Agents } from "./agent-options.ts";
import { createHooks } from "./middleware.ts";
import { nameOf, namesOf } from "./read-agent.ts";
import { createTransferTool, type TransferTool } from "./transfer-tool.ts";

/** The options for `createHandoffs`. `A` is the type of the agents. */
export interface HandoffOptions<A extends Agents = Agents> {
  /** The agents, by name. A name has 1 to 50 letters, digits, "_" or "-". */
  readonly agents: A & { readonly [Name in keyof A]: { readonly handoffs?: readonly (keyof A & string)[] | undefined } };
  /** The name of the agent that begins. */
  readonly start: keyof A & string;
  /** The maximum number of handoffs in a run. An additional handoff ends the run as `handoff-cap`. Default 10. */
  readonly maxHandoffs?: number | undefined;
}

/** The types of the tools that agents list as objects. Tools that agents list by name are not included. */
export type ToolsOf<A extends Agents> = {
  [Name in keyof A]: A[Name] extends { readonly tools: infer Listed extends readonly unknown[] }
    ? Extract<Listed[number], Tool>
    : never;
}[keyof A];

/** The type of the context that the agents' `system` functions need. */
export type SystemContextOf<A extends Agents> = (
  { [Name in keyof A]: NeededBySystem<A[Name]["system"]> }[keyof A] extends infer Needed
    ? Needed extends (context: never) => void
      ? Needed
      : never
    : never
) extends (context: infer Context) => void
  ? Context
  : unknown;

type NeededBySystem<System> = System extends (facts: infer Facts) => string
  ? Facts extends { readonly context: infer Context }
    ? (context: Context) => void
    : never
  : never;

/** The agents that can take over a run. Created by `createHandoffs`. */
export interface Handoffs extends Middleware {
  /** All of the agents' tools, and the tools for handoffs. The middleware adds them to the run. */
  readonly tools: readonly Tool[];
  /**
   * Returns the same agents with a different first agent. To continue a conversation, pass the `agent` from its last run's result. Returns
   * the agents unchanged for `undefined`, and for an agent that no longer exists. `messagesBefore` is the field of that name in the last
   * handoff: the number of messages to which the agent's `history` filter applies. Default: the filter applies to no messages.
   */
  startWith(agent: string | undefined, messagesBefore?: number): Handoffs;
}

/**
 * The agents in a run, as middleware that adds their tools to the run. `T` is the union of the types of their tools, and `Context` is the
 * type of the context that their prompts need.
 */
export interface AgentHandoffs<T extends Tool = Tool, Context = unknown> extends Handoffs {
  readonly tools: readonly (T | TransferTool<Context>)[];
  startWith(agent: string | undefined, messagesBefore?: number): AgentHandoffs<T, Context>;
}

const optionChecks: Checks<HandoffOptions> = {
  agents: ["an object with at least one agent", (value) => isRecord(value) && Object.keys(value).length > 0, undefined, true],
  start: /* @__PURE__ */ needed(is.text),
  maxHandoffs: { min: 1 },
};

const agentChecks: Checks<AgentOptions> = {
  description: /* @__PURE__ */ needed(is.text),
  system: ["a string or a function", (value) => isText(value) || isFunction(value)],
  tools: ["an array of tools and tool names", Array.isArray],
  handoffs: ["an array of agent names", is.texts[1]],
  provider: providerCheck,
  ...requestChecks,
  history: is.fn,
};

/**
 * Defines agents that can hand a run over to one another. After a handoff, the run continues in the same transcript, with the new
 * agent's system prompt, tools and provider. Each agent gets a `transfer_to_NAME` tool for each agent in its `handoffs`. The
 * middleware adds all agents' tools to the run. To get their types in the result, also pass `tools: agents.tools`.
 *
 * Only the first handoff in a message is carried out, and the others fail. A resumed run continues as the agent of its last
 * handoff. Each handoff emits a `handoff` event, and `result.agent` is the last agent.
 *
 * Throws LoopError "invalid-option" or "unknown-option" if an option is invalid. Throws "duplicate-tool" if two agents have
 * different tools with the same name.
 *
 * @example
 * const agents = createHandoffs({
 *   start: "triage",
 *   agents: {
 *     triage: { description: "Finds out the topic.", handoffs: ["billing"] },
 *     billing: { description: "Answers questions about invoices.", tools: [findInvoice], handoffs: ["triage"] },
 *   },
 * });
 * await runToolLoop({ provider, messages, middleware: [agents] });
 */
export function createHandoffs<const A extends Agents>(
  options: HandoffOptions<A>,
): AgentHandoffs<ToolsOf<A>, SystemContextOf<A>> {
  checkFields("createHandoffs", options, optionChecks);
  const agents = new Map<string, AgentOptions>(Object.entries(options.agents));
  for (const [name, agent] of agents) checkAgent(name, agent, agents);
  const tools = collectTools(agents);
  return createTable({ agents, tools, start: options.start, startsAfter: undefined, maxHandoffs: options.maxHandoffs ?? 10 });
}

function listNames(agents: ReadonlyMap<string, unknown>): string {
  return `the name of an agent: ${[...agents.keys()].map(quote).join(", ")}`;
}

function checkAgent(name: string, agent: AgentOptions, agents: ReadonlyMap<string, AgentOptions>): void {
  const option = `agents.${name}`;
  if (!/^[\w-]{1,50}$/.test(name))
    throw invalidOption("The name of an agent", 'a string of 1 to 50 letters, digits, "_" or "-"', name);
  checkFields(option, agent, agentChecks);
  for (const tool of agent.tools ?? []) if (typeof tool !== "string") assertTool(tool);
  for (const target of agent.handoffs ?? []) if (target === name || !agents.has(target)) throw refuseTarget(name, target, agents);
}

function refuseTarget(name: string, target: string, agents: ReadonlyMap<string, AgentOptions>): LoopError<"invalid-option"> {
  const others = [...agents.keys()].filter((other) => other !== name).map(quote);
  const expected = `an array of other agents (${others.join(", ") || "there are none"})`;
  const received =
    target === name ? "an array with the agent itself" : `an array with the unknown agent ${quote(cutText(target, 60))}`;
  return new LoopError("invalid-option", { option: `agents.${name}.handoffs`, expected, received });
}

/** Returns all agents' tools and the handoff tools. Several agents may have the same tool. */
function collectTools(agents: ReadonlyMap<string, AgentOptions>): readonly Tool[] {
  const byName = new Map<string, Tool>();
  const add = (tool: Tool): void => {
    const known = byName.get(tool.name);
    if (known !== undefined && known !== tool) throw new LoopError("duplicate-tool", { toolName: tool.name });
    byName.set(tool.name, tool);
  };
  for (const { tools = [] } of agents.values()) for (const tool of tools) if (typeof tool !== "string") add(tool);
  const targets = new Set([...agents.values()].flatMap(({ handoffs = [] }) => handoffs));
  for (const target of targets) add(createTransferTool(target, agents.get(target)?.description ?? ""));
  return [...byName.values()];
}

interface TableParts {
  readonly agents: ReadonlyMap<string, AgentOptions>;
  readonly tools: readonly Tool[];
  readonly start: string;
  readonly startsAfter: number | undefined;
  readonly maxHandoffs: number;
}

function createTable<T extends Tool, Context>(parts: TableParts): HandoffPolicy<T, Context> {
  const { agents, tools, start, startsAfter, maxHandoffs } = parts;
  if (!agents.has(start)) throw invalidOption("start", listNames(agents), start);
  const listed = new Set([...tools, ...[...agents.values()].flatMap(({ tools: own = [] }) => own)].map(nameOf));
  /** Throws LoopError "invalid-option" if an agent names a tool that the run lacks, or requires a tool that the agent lacks. */
  const checkTools = (given: readonly Tool[]): void => {
    const names = new Set<string>(given.map(nameOf));
    const shared = [...names].filter((name) => !listed.has(name));
    for (const [name, agent] of agents) {
      checkNames(name, agent, names);
      checkChoice(name, agent, new Set([...shared, ...namesOf(agent)]));
    }
  };
  const table: HandoffPolicy<T, Context> = {
    name: "handoffs",
    begin: (run) => {
      const given = listTools(run.options);
      if (given !== undefined) checkTools(given);
      return createHooks({ agents, listed, start, startsAfter, maxHandoffs });
    },
    // Safe cast: the tools come from the agents, and the caller declares their types as `T`.
    tools: tools as readonly (T | TransferTool<Context>)[],
    startWith: (agent, messagesBefore) => {
      checkCount(messagesBefore);
      if (agent === undefined || !agents.has(agent)) return table;
      return createTable<T, Context>({ ...parts, start: agent, startsAfter: messagesBefore });
    },
  };
  return table;
}

interface HandoffPolicy<T extends Tool, Context> extends AgentHandoffs<T, Context> {
  startWith(agent: string | undefined, messagesBefore?: number): HandoffPolicy<T, Context>;
}

/** Throws for an unknown tool name, because an agent would otherwise silently lack a tool whose name is misspelled. */
function checkNames(name: string, { tools = [] }: AgentOptions, known: ReadonlySet<unknown>): void {
  const missing = tools.find((tool) => typeof tool === "string" && !known.has(tool));
  if (typeof missing !== "string") return;
  const expected = "an array of tools or names of the run's tools";
  const received = `an array with the unknown name ${quote(cutText(missing, 60))}`;
  throw new LoopError("invalid-option", { option: `agents.${name}.tools`, expected, received });
}

function checkChoice(name: string, { toolChoice }: AgentOptions, own: ReadonlySet<unknown>): void {
  if (typeof toolChoice !== "object" || own.has(toolChoice.name)) return;
  throw invalidOption(`agents.${name}.toolChoice.name`, "the name of one of this agent's tools", toolChoice.name);
}

function checkCount(messages: number | undefined): void {
  if (messages === undefined || isWithin(messages, { min: 0, infinite: false })) return;
  throw invalidOption("The argument of createHandoffs().startWith()", "a message count (a whole number of at least 0)", messages);
}
