import {
  argumentSchema,
  type Check,
  checkFields,
  type Checks,
  createToolRegistry,
  cutText,
  type ExecutableTool,
  findableTools,
  invalidOption,
  isFunction,
  issue,
  LoopError,
  markSignal,
  memoize,
  numberWithin,
  type StandardResult,
  type StandardSchema,
  type Tool,
  type ToolDefinition,
  toolResult,
  type ToolRegistry,
  type ToolResult,
  toRegistry,
  type UnknownRecord,
} from "../core/entry-kit.ts";
import { describeFinder, toLine } from "./describe-finder.ts";
import { ToolIndex } from "./tool-index.ts";

/** The options of `withToolSearch`. */
export interface ToolSearchOptions {
  /**
   * The tools to defer: `true` for all tools, or a function that returns true for each tool to defer. The function is called once
   * for each definition. Its result replaces the trait `deferred` of the tool. Default: the tools with the trait `deferred`.
   */
  readonly defer?: true | ((definition: ToolDefinition) => boolean) | undefined;
  /** The maximum number of tools that one search finds and loads. From 1 to 50. Default 5. */
  readonly maxResults?: number | undefined;
  /**
   * The maximum size of `find_tools` in a request, in estimated tokens. The description of `find_tools` lists the names of the
   * deferred tools as far as they fit. For names that do not fit, the description has only their number. At least 300. Default
   * 1,500.
   */
  readonly maxTokens?: number | undefined;
}

const deferCheck: Check = ["true, or a function that returns true or false", (value) => value === true || isFunction(value)];

const checks: Checks<ToolSearchOptions> = {
  defer: deferCheck,
  maxResults: /* @__PURE__ */ numberWithin({ min: 1, max: 50, infinite: false }),
  maxTokens: /* @__PURE__ */ numberWithin({ min: 300 }),
};

const finderName = "find_tools";

const longestQuery = 500;
const longestDescription = 160;

interface FindRequest {
  readonly query: string;
}

type FinderTool = ExecutableTool<FindRequest, StandardSchema<unknown, FindRequest>, ToolResult>;

interface Table {
  /** The array that `source.definitions()` returned. If the source returns another array, the table is made again. */
  readonly source: readonly ToolDefinition[];
  readonly definitions: readonly ToolDefinition[];
  readonly deferred: readonly ToolDefinition[];
}

/**
 * Makes a registry with all tools of `source`, and the tool `find_tools` if any of them is deferred. The model sees a deferred
 * tool only after `find_tools` has found it, or after the model has called it. `find_tools` searches the names, descriptions and
 * parameters of the deferred tools. Loaded tools are added at the end of the next request, so that the service can still use its
 * cache for the tools before them.
 *
 * All rules for calls apply to found tools too. Tools that a filter, a context restart or `prepareIteration` hides are not found.
 * Their names may still be in the description of `find_tools`, so apply `withFilter` to `source`, not to the result. If the
 * provider has `searchesTools`, requests do not contain `find_tools`, because the service searches itself.
 *
 * Throws LoopError "invalid-option" or "unknown-option" if an argument is invalid. Throws "duplicate-tool" if `source` has a tool
 * named `find_tools`. If `source` gets such a tool later, `definitions()` throws this error.
 *
 * @example
 * const tools = withToolSearch(await createMcpRegistry({ client }), { defer: ({ name }) => name !== "search_docs" });
 * await runToolLoop({ provider, tools, messages });
 */
export function withToolSearch(source: ToolRegistry | readonly Tool[], options: ToolSearchOptions = {}): ToolRegistry {
  const registry = toRegistry(source, "withToolSearch");
  checkFields("withToolSearch", options, checks);
  const { defer, maxResults = 5, maxTokens = 1_500 } = options;
  const index = new ToolIndex();
  const finder = createToolRegistry([
    createFinder((query, tools) => index.search(query, tools ?? current().deferred, maxResults)),
  ]);
  const [plain] = finder.definitions();
  const mark = memoize((tool: ToolDefinition) => markTool(tool, defer));
  let table: Table = { source: [], definitions: [], deferred: [] };

  const current = (): Table => {
    const found = registry.definitions();
    if (found === table.source || plain === undefined) return table;
    if (found.some(({ name }) => name === finderName)) throw new LoopError("duplicate-tool", { toolName: finderName });
    const marked = found.map(mark);
    const deferred = marked.filter((tool) => tool.deferred === true);
    const own = deferred.length === 0 ? [] : [describeFinder(plain, deferred, maxTokens)];
    table = { source: found, definitions: Object.freeze([...marked, ...own]), deferred };
    return table;
  };
  current();

  const ownerOf = (name: string): ToolRegistry => (name === finderName ? finder : registry);
  return {
    definitions: () => current().definitions,
    executeTool: (name, args, context) => ownerOf(name).executeTool(name, args, context),
    validate: (name, args) => ownerOf(name).validate?.(name, args) ?? { value: args, unchecked: true },
    validateResult: (name, result) => ownerOf(name).validateResult?.(name, result) ?? { value: result, unchecked: true },
    agentOf: (name) => ownerOf(name).agentOf?.(name),
  };
}

function markTool(tool: ToolDefinition, defer: ToolSearchOptions["defer"]): ToolDefinition {
  if (defer === undefined) return tool;
  const answer: unknown = defer === true || defer(tool);
  if (typeof answer !== "boolean") throw invalidOption("defer", deferCheck[0], answer);
  return answer === (tool.deferred === true) ? tool : Object.freeze({ ...tool, deferred: answer });
}

type Search = (query: string, tools: readonly ToolDefinition[] | undefined) => readonly ToolDefinition[];

function createFinder(search: Search): FinderTool {
  return {
    name: finderName,
    description: "",
    inputSchema,
    replay: "safe",
    findsTools: true,
    execute: ({ query }, context) => {
      const found = search(query, findableTools(context));
      if (found.length === 0) return toolResult({ data: { tools: [], hint: "No tool matches. Try other words for the task." } });
      const tools = found.map(({ name, description }) => ({ name, description: toLine(description, longestDescription) }));
      return markSignal(toolResult({ data: { tools } }), { load: found.map(({ name }) => name) });
    },
  };
}

const inputSchema = /* @__PURE__ */ argumentSchema<FindRequest>(
  {
    type: "object",
    properties: { query: { type: "string", description: "Words about the task, or exact names of tools." } },
    required: ["query"],
  },
  readRequest,
);

function readRequest({ query }: UnknownRecord): StandardResult<FindRequest> {
  if (typeof query !== "string" || query.trim() === "") return issue("must be a text with at least one word", "query");
  return { value: { query: cutText(query, longestQuery) } };
}
