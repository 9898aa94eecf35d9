import { createResultCache, type ReadSource, type ResultCache } from "turnwright/cache";
import { runTool } from "turnwright/testing";

/** Returns the text that the model reads: the result of the call, or the kind and the message of its failure. */
export async function readPart({ tool }: Pick<ResultCache, "tool">, args: object): Promise<string> {
  const outcome = await runTool(tool, args);
  if (outcome.kind === "completed") return typeof outcome.data === "string" ? outcome.data : JSON.stringify(outcome.data);
  return "error" in outcome ? `${outcome.kind}: ${outcome.error.message}` : outcome.kind;
}

export function readFrom(source: ReadSource): (args: object) => Promise<string> {
  const cache = createResultCache({ sources: [source] });
  return (args) => readPart(cache, args);
}

export async function storedIn(cache: ResultCache, text: string): Promise<string> {
  return /id "([^"]+)"/.exec(await cache.cacher.store(text, { toolName: "search" }))?.[1] ?? "";
}
