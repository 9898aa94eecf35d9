import type { Message } from "../core/types/message.ts";
import { listOf, recordOf, textOf } from "./plain-error.ts";
import type { UnknownRecord } from "./guards.ts";

/** A web page that a model cites, for example after a web search that the service ran. */
export interface AnswerSource {
  /** An http or https URL. */
  readonly url: string;
  /** The page's title, if the service sends it. */
  readonly title?: string | undefined;
}

/**
 * Lists the web pages that the messages cite, each URL once, in order. Reads the provider metadata of assistant messages: the citations of
 * Anthropic, the annotations of OpenAI's two APIs and OpenRouter, the search results of Perplexity, the grounding of Gemini, and the
 * sources of AI SDK models. Ignores URLs that are not http or https, because a page may show them as links.
 *
 * @example
 * const result = await runToolLoop({ provider, messages });
 * for (const { url, title = url } of listSources(result.messages)) console.log(`- ${title}: ${url}`);
 */
export function listSources(messages: readonly Message[]): readonly AnswerSource[] {
  const found = new Map<string, AnswerSource>();
  for (const message of messages) {
    if (message.role !== "assistant") continue;
    for (const source of (message.providerMetadata ?? []).flatMap(({ item }) => readItem(recordOf(item)))) {
      const [url, title] = [textOf(source.url ?? source.uri), textOf(source.title)];
      if (/^https?:\/\//i.test(url) && !found.has(url)) found.set(url, { url, ...(title !== "" && { title }) });
    }
  }
  return [...found.values()];
}

/** Returns the records with a URL in one item of provider metadata. */
function readItem(item: UnknownRecord): readonly UnknownRecord[] {
  const { content_block: block, output_item: output, annotations, search_results: results, groundingMetadata } = item;
  const texts = listOf(recordOf(output).content).map(recordOf);
  return [
    ...listOf(recordOf(block).citations),
    ...texts.flatMap((text) => listOf(text.annotations)),
    ...listOf(annotations).map((annotation) => recordOf(annotation).url_citation),
    ...listOf(results),
    ...listOf(recordOf(groundingMetadata).groundingChunks).map((chunk) => recordOf(chunk).web),
    ...listOf(item.citations).map((citation) => recordOf(citation).source),
    item.source,
  ].map(recordOf);
}
