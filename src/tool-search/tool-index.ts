import MiniSearch, { type SearchOptions } from "minisearch";
import { cutText, isRecord, type ToolDefinition } from "../core/entry-kit.ts";

interface IndexedTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: string;
}

/** In characters. The rest of a longer text is ignored, because the texts of tools may come from servers and have any length. */
const longestText = 2_000;
const deepestSchema = 4;
const mostParameters = 200;
const mostTerms = 40;

const fields = ["name", "description", "parameters"] as const;

const searchOptions: SearchOptions = {
  boost: { name: 4, description: 2 },
  prefix: (term) => term.length >= 3,
  fuzzy: (term) => (term.length >= 5 ? 0.2 : false),
};

/**
 * Searches the names, descriptions and parameters of tools. Makes a new index if the tools differ from those of the last search.
 */
export class ToolIndex {
  #tools: readonly ToolDefinition[] = [];
  #index = createIndex([]);

  /**
   * Returns at most `most` tools, the best match first. Tools whose exact names are in the query come first. The order depends
   * only on the query and the tools.
   */
  search(query: string, tools: readonly ToolDefinition[], most: number): readonly ToolDefinition[] {
    this.#update(tools);
    const byName = new Map(tools.map((tool) => [tool.name, tool]));
    const exact = query.split(/[^\w-]+/).filter((word) => byName.has(word));
    const terms = toTerms(query).slice(0, mostTerms).join(" ");
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
      description: cutText(description, longestText),
      parameters: cutText(listParameters(inputSchema).join(" "), longestText),
    })),
  );
  return index;
}

/** Splits also at "_" and before capital letters: `createIssue` and `create_issue` have the same words. */
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
      if (texts.length >= mostParameters) return;
      const description = isRecord(field) ? field["description"] : undefined;
      texts.push(typeof description === "string" ? `${name} ${cutText(description, longestText)}` : name);
      visit(field, depth + 1);
    }
  };
  visit(schema, 0);
  return texts;
}
