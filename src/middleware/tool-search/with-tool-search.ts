import { argumentSchema } from "../../shared/own-schema.ts";
import {
  type Check,
  checkFields,
  type Checks,
  type ExecutableTool,
  invalidOption,
  isRecord,
  markSignal,
  memoize,
  toRegistry,
} from "../../core/kit.ts";
import type { StandardResult } from "../../core/types/common.ts";
import {
  createToolRegistry,
  LoopError,
  type StandardSchema,
  type Tool,
  type ToolDefinition,
  type ToolRegistry,
  toolResult,
  type ToolResult,
} from "../../core/index.ts";
import { cutText, toLine } from "../../shared/texts.ts";
import { isFunction } from "../../shared/errors/check-fields.ts";
import { issue } from "../../shared/argument-schema.ts";
import type { UnknownRecord } from "../../shared/guards.ts";
import { countBytes } from "../../shared/estimate-tokens.ts";
import MiniSearch, { type SearchOptions } from "minisearch";

const intro =
  "Finds tools that are not shown here, and shows them from your next step on. Use it before you say that you cannot do something. Pass words about the task, or exact names.";
const explanation = 'The tools to find, where "a_: b, c" means a_b and a_c:';
const singles = "others";

/** The estimated number of bytes per token. Lower than for ordinary text, because names have more tokens than prose of the same length. */
const bytesPerToken = 3;
const maxNameLength = 64;
/** The maximum number of names in a group. A larger group is split, because the model would see only the beginning of a long list. */
const maxInGroup = 40;

interface Group {
  readonly prefix: string;
  readonly names: readonly string[];
}

/**
 * Returns the definition of `find_tools`, whose description lists as many names of deferred tools as fit. The JSON of
 * the definition has at most `maxTokens` estimated tokens.
 */
function describeFinder(definition: ToolDefinition, deferred: readonly ToolDefinition[], maxTokens: number): ToolDefinition {
  const withText = (description: string): ToolDefinition => Object.freeze({ ...definition, description });
  const empty = JSON.stringify(withText(`${intro} ${explanation}`));
  const groups = toGroups(deferred.map(({ name }) => toLine(name, maxNameLength)));
  const listing = fitListing(groups, maxTokens * bytesPerToken - countBytes(empty));
  return withText(`${intro} ${explanation}${listing}`);
}

/**
 * Lists as many names from each group as fit. If even the groups' sizes do not fit, lists the sizes of the largest groups.
 */
function fitListing(groups: readonly Group[], bytes: number): string {
  const fits = (text: string): boolean => countBytes(JSON.stringify(text)) - 2 <= bytes;
  const largest = Math.max(...groups.map(({ names }) => names.length));
  const listed = writeMost(largest, (most) => writeGroups(groups, most), fits);
  if (fits(listed)) return listed;
  const bySize = [...groups].sort((one, other) => other.names.length - one.names.length);
  const writeLargest = (count: number): string => {
    const left = bySize.slice(count).reduce((sum, { names }) => sum + names.length, 0);
    return `${writeGroups(bySize.slice(0, count), 0)}\nand ${left} more tools`;
  };
  return writeMost(bySize.length, writeLargest, fits);
}

/** Returns `write(count)` for the largest count up to `most` whose text fits, or `write(0)` if none fits. */
function writeMost(most: number, write: (count: number) => string, fits: (text: string) => boolean): string {
  // Tries the full text first, because it may be shorter than the text for `most - 1`, which ends with "and 1 more". The search below skips
  // `most`.
  const everything = write(most);
  if (fits(everything)) return everything;
  let [low, high] = [0, most];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (fits(write(middle))) low = middle;
    else high = middle;
  }
  return write(low);
}

function writeGroups(groups: readonly Group[], most: number): string {
  return groups.map((group) => `\n${writeGroup(group, most)}`).join("");
}

function writeGroup({ prefix, names }: Group, most: number): string {
  if (most === 0) return `${prefix}: ${names.length} tools`;
  const left = names.length - most;
  return `${prefix}: ${names.slice(0, most).join(", ")}${left > 0 ? ` and ${left} more` : ""}`;
}

/**
 * Groups names by their first part: "github_" for `github_create_issue`. The result does not depend on the order of the names.
 */
function toGroups(names: readonly string[]): readonly Group[] {
  const groups = split({ prefix: "", names: [...names].sort() });
  const alone = groups.filter((group) => group.prefix === "");
  const shared = groups.filter((group) => group.prefix !== "");
  return [...shared, ...alone.map((group) => ({ ...group, prefix: singles }))];
}

/**
 * Splits a group by the next part of its names: names with the same next part become a group. All names whose next part is unique
 * become one more group.
 */
function split({ prefix, names }: Group): readonly Group[] {
  const parts = new Map<string, string[]>();
  for (const name of names) {
    const part = /^[^_-]+[_-]+/.exec(name)?.[0] ?? "";
    const members = parts.get(part);
    if (members === undefined) parts.set(part, [name]);
    else members.push(name);
  }
  const alone: string[] = [];
  const groups: Group[] = [];
  for (const [part, members] of parts) {
    if (part === "" || members.length === 1) alone.push(...members);
    else {
      const group = { prefix: prefix + part, names: members.map((name) => name.slice(part.length)) };
      groups.push(...(members.length > maxInGroup ? split(group) : [group]));
    }
  }
  return alone.length === 0 ? groups : [...groups, { prefix, names: alone.sort() }];
}

interface IndexedTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: string;
}

/** The maximum length of searched text, in characters. Tool descriptions from servers can be of any length. */
const maxTextLength = 2_000;
const deepestSchema = 4;
const maxParameters = 200;
const maxTerms = 40;

const fields = ["name", "description", "parameters"] as const;

const searchOptions: SearchOptions = {
  boost: { name: 4, description: 2 },
  prefix: (term) => term.length >= 3,
  fuzzy: (term) => (term.length >= 5 ? 0.2 : false),
};

/** Searches the names, descriptions and parameters of tools. Builds a new index if the tools have changed since the last search. */
class ToolIndex {
  #tools: readonly ToolDefinition[] = [];
  #index = createIndex([]);

  /**
   * Returns up to `most` tools, best match first. Tools whose exact names are in the query come before all others. The order
   * depends only on the query and the tools.
   */
  search(query: string, tools: readonly ToolDefinition[], most: number): readonly ToolDefinition[] {
    this.#update(tools);
    const byName = new Map(tools.map((tool) => [tool.name, tool]));
    const exact = query.split(/[^\w-]+/).filter((word) => byName.has(word));
    const terms = toTerms(query).slice(0, maxTerms).join(" ");
    const matches = this.#index.search(terms, searchOptions);
    const ranked = matches.map(({ id, score }) => ({ name: String(id), score }));
    ranked.sort((one, other) => other.score - one.score || (one.name < other.name ? -1 : 1));
    const names = new Set([...exact, ...ranked.map(({ name }) => name)]);
    return Array.from(names, (name) => byName.get(name))
      .filter((tool) => tool !== undefined)
      .slice(0, most);
  }

  #update(tools: readonly ToolDefinition[]): void {
    const isSame = tools.length === this.#tools.length && tools.every((tool, position) => tool === this.#tools[position]);
    if (isSame) return;
    this.#tools = tools;
    this.#index = createIndex(tools);
  }
}

function createIndex(tools: readonly ToolDefinition[]): MiniSearch<IndexedTool> {
  const index = new MiniSearch<IndexedTool>({ idField: "name", fields: [...fields], tokenize: toTerms, processTerm: toStem });
  index.addAll(
    tools.map(({ name, description, inputSchema }) => ({
      name,
      description: cutText(description, maxTextLength),
      parameters: cutText(listParameters(inputSchema).join(" "), maxTextLength),
    })),
  );
  return index;
}

/** Splits text into words, including at "_" and before capital letters: `createIssue` and `create_issue` yield the same words. */
function toTerms(text: string): string[] {
  const spaced = text.replace(/([\p{Ll}\p{N}])(?=\p{Lu})|(\p{Lu})(?=\p{Lu}\p{Ll})/gu, "$1$2 ");
  return spaced.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== "");
}

function toStem(term: string): string {
  const word = term.toLowerCase();
  return word.length > 3 && word.endsWith("s") && !word.endsWith("ss") ? word.slice(0, -1) : word;
}

function listParameters(schema: unknown): readonly string[] {
  const texts: string[] = [];
  const visit = (value: unknown, depth: number): void => {
    if (!isRecord(value) || depth > deepestSchema) return;
    const { properties, items } = value;
    visit(items, depth + 1);
    if (!isRecord(properties)) return;
    for (const [name, field] of Object.entries(properties)) {
      if (texts.length >= maxParameters) return;
      const description = isRecord(field) ? field["description"] : undefined;
      texts.push(typeof description === "string" ? `${name} ${cutText(description, maxTextLength)}` : name);
      visit(field, depth + 1);
    }
  };
  visit(schema, 0);
  return texts;
}

/** The options for `withToolSearch`. */
export interface ToolSearchOptions {
  /**
   * The tools to defer: `true` for all tools, or a function that returns true for each tool to defer. The function is called once
   * for each definition. Its result replaces the tool's `deferred` trait. Default: the tools with the `deferred` trait.
   */
  readonly defer?: true | ((definition: ToolDefinition) => boolean) | undefined;
  /** The maximum number of tools that one search finds and loads. From 1 to 50. Default 5. */
  readonly maxResults?: number | undefined;
  /**
   * The maximum size of `find_tools` in a request, in estimated tokens. The description of `find_tools` lists as many names of deferred
   * tools as fit, and only counts the rest. At least 300. Default 1,500.
   */
  readonly maxTokens?: number | undefined;
}

const deferCheck: Check = ["true, or a function that returns true or false", (value) => value === true || isFunction(value)];

const checks: Checks<ToolSearchOptions> = {
  defer: deferCheck,
  maxResults: { min: 1, max: 50, infinite: false },
  maxTokens: { min: 300 },
};

const finderName = "find_tools";

const maxQueryLength = 500;
const maxDescriptionLength = 160;

interface FindRequest {
  readonly query: string;
}

type FinderTool = ExecutableTool<FindRequest, StandardSchema<unknown, FindRequest>, ToolResult>;

interface Table {
  /** The array that `source.definitions()` returned. If the source returns a different array, the table is rebuilt. */
  readonly source: readonly ToolDefinition[];
  readonly definitions: readonly ToolDefinition[];
  readonly deferred: readonly ToolDefinition[];
}

/**
 * Creates a registry with all tools of `source`, and the `find_tools` tool if any of them is deferred. The model sees a deferred tool only
 * after `find_tools` has found it, or after the model has called it. `find_tools` searches the names, descriptions and parameters of the
 * deferred tools. Loaded tools are added at the end of the tool list in the next request, so that the service can still use its cache for
 * the tools before them.
 *
 * Found tools are subject to the same rules as all other tools. Tools that a filter, a context restart or `prepareIteration` hides are not
 * found. Their names may still be in the description of `find_tools`, so apply `withFilter` to `source`, not to the result. If the provider
 * has `searchesTools`, requests do not contain `find_tools`, because the service does the search itself.
 *
 * Throws LoopError "invalid-option" or "unknown-option" if an argument is invalid. Throws "duplicate-tool" if `source` has a tool
 * named `find_tools`. If such a tool is added to `source` later, `definitions()` throws this error.
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
      const found = search(query, context.findableTools);
      if (found.length === 0) return toolResult({ data: { tools: [], hint: "No tool matches. Try other words for the task." } });
      const tools = found.map(({ name, description }) => ({ name, description: toLine(description, maxDescriptionLength) }));
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
  if (typeof query !== "string" || query.trim() === "") return issue("must be a string with at least one word", "query");
  return { value: { query: cutText(query, maxQueryLength) } };
}
