import { checkFields, type Checks, invalidOption, is, isRecord, listOf, recordOf, textOf } from "../core/kit.ts";
import { countBytes } from "../shared/estimate-tokens.ts";
import { toLine } from "../shared/texts.ts";
import { isFunction } from "../shared/errors/check-fields.ts";
import { textOrNone, toPlainError } from "../shared/plain-error.ts";
import type { UnknownRecord } from "../shared/guards.ts";
import { describeLink, followSignal, maxMs } from "./call-tool.ts";
import { isConnected, type McpRequestOptions } from "./mcp-client.ts";

/** The client methods that read resources. Both versions of the MCP SDK's client have them. */
export interface McpResourceClient {
  /** The connection to the MCP server. Undefined if the client is not connected. */
  readonly transport?: object | undefined;
  listResources(params?: { cursor?: string }, options?: McpRequestOptions): Promise<object>;
  readResource(params: { uri: string }, options?: McpRequestOptions): Promise<object>;
}

/** The options of `resourceSource`. */
export interface ResourceSourceOptions {
  /**
   * The name of the source. If the model passes this name as the id, it gets the list of the server's resources. 1 to 64 letters, digits,
   * ".", "_" or "-". Default "resources".
   */
  readonly name?: string | undefined;
  /** The maximum size of a resource in bytes. Larger resources are refused. Default 8 MiB. */
  readonly maxBytes?: number | undefined;
  /**
   * Returns true for each URI that the model may read from this server. Each URI is requested from the first source that accepts
   * it, so with several servers, accept only the URIs of this server. Default: the model may read every URI.
   */
  readonly accepts?: ((uri: string) => boolean) | undefined;
}

/** A source that reads the resources of an MCP server. */
export interface ResourceSource {
  readonly name: string;
  readonly description: string;
  open(id: string, signal: AbortSignal): Promise<string | undefined>;
}

const checks: Checks<ResourceSourceOptions> = {
  name: [
    'a string of 1 to 64 letters, digits, ".", "_" or "-"',
    (value) => typeof value === "string" && /^[\w.-]{1,64}$/.test(value) && !/^\.+$/.test(value),
  ],
  maxBytes: { min: 1 },
  accepts: is.fn,
};

const fallbackBytes = 8 * 1_024 * 1_024;
const maxUriLength = 2_000;
const maxListed = 1_000;
const maxListedLength = 2_500;
const maxPages = 100;
const maxTypeLength = 100;
const maxTypes = 5;
const maxErrorLength = 1_000;

/**
 * Creates a source for `createResultCache` from `turnwright/cache`, so that the model can read the text resources of an MCP server in
 * parts. The client must be connected: a `Client` from `@modelcontextprotocol/sdk` or `@modelcontextprotocol/client`. The id of a resource
 * is its URI, for example from a resource link in a tool result. If the model passes the source's name as the id, it gets the list of
 * resources.
 *
 * A resource is requested again for each part. Binary resources are refused. Only the model reads the text of a resource; turnwright does
 * not interpret it.
 *
 * Throws LoopError "invalid-option" or "unknown-option".
 *
 * @example
 * const cache = createResultCache({ sources: [resourceSource(client, { name: "docs" })] });
 */
export function resourceSource(client: McpResourceClient, options: ResourceSourceOptions = {}): ResourceSource {
  if (!canRead(client)) throw invalidOption("client", "an MCP client that can read resources", client);
  checkFields("options", options, checks);
  const { name = "resources", maxBytes = fallbackBytes, accepts = (): boolean => true } = options;
  return {
    name,
    description: `MCP resources, whose ids are their URIs. The id "${name}" lists them`,
    open: async (id, signal) => {
      if (id === name) return listResources(client, accepts, signal);
      const isUri = id.length <= maxUriLength && /^[a-z][a-z\d+.-]*:/i.test(id);
      return isUri && isTrue(accepts(id)) ? readResource(client, { uri: id, maxBytes }, signal) : undefined;
    },
  };
}

/** True only for `true`. If `accepts` is asynchronous by mistake, it returns a promise, which must not count as true. */
function isTrue(accepted: unknown): boolean {
  return accepted === true;
}

function canRead(client: unknown): client is McpResourceClient {
  return isRecord(client) && isFunction(client["readResource"]) && isFunction(client["listResources"]);
}

async function readResource(
  client: McpResourceClient,
  { uri, maxBytes }: { readonly uri: string; readonly maxBytes: number },
  signal: AbortSignal,
): Promise<string> {
  const answer = await ask(client, signal, (options) => client.readResource({ uri }, options));
  const contents = listOf(recordOf(answer)["contents"]).filter(isRecord);
  const texts = contents.filter(({ text }) => typeof text === "string");
  if (texts.length === 0) throw new Error(`This resource has no text${describeBinary(contents)}, so it cannot be read here.`);
  const [only] = contents;
  const text = contents.length === 1 && only !== undefined ? textOf(only["text"]) : contents.map(describePart).join("\n");
  const bytes = countBytes(text);
  if (bytes > maxBytes)
    throw new Error(`The resource has ${bytes} bytes. Only resources of at most ${maxBytes} bytes can be read.`);
  return text;
}

function describePart({ uri, mimeType, text }: UnknownRecord): string {
  const type = toLine(textOf(mimeType), maxTypeLength) || "binary content";
  return `Resource ${toLine(textOf(uri), maxUriLength)}:\n${typeof text === "string" ? text : `(${type}, which cannot be shown)`}`;
}

function describeBinary(contents: readonly UnknownRecord[]): string {
  const types = contents.map(({ mimeType }) => toLine(textOf(mimeType), maxTypeLength)).filter((type) => type !== "");
  const listed = [...new Set(types)].slice(0, maxTypes).join(", ");
  return contents.length === 0 ? "" : ` but binary content${listed === "" ? "" : ` (${listed})`}`;
}

async function listResources(client: McpResourceClient, accepts: (uri: string) => boolean, signal: AbortSignal): Promise<string> {
  const lines: string[] = [];
  const asked = new Set<string>();
  let cursor: string | undefined;
  for (let page = 0; page < maxPages; page += 1) {
    const params = cursor === undefined ? {} : { cursor };
    const answer = recordOf(await ask(client, signal, (options) => client.listResources(params, options)));
    for (const link of listOf(answer["resources"]).filter(isRecord)) {
      if (!isTrue(accepts(textOf(link["uri"])))) continue;
      if (lines.length === maxListed) return [...lines, `(The server has more than ${maxListed} resources.)`].join("\n");
      lines.push(toLine(describeLink(link), maxListedLength));
    }
    cursor = textOrNone(answer["nextCursor"]);
    if (cursor === undefined || asked.has(cursor)) break;
    asked.add(cursor);
  }
  return lines.join("\n") || "(The server lists no resources.)";
}

async function ask(
  client: McpResourceClient,
  signal: AbortSignal,
  request: (options: McpRequestOptions) => Promise<object>,
): Promise<unknown> {
  if (!isConnected(client)) throw new Error("The MCP server is not connected. Continue without this text.");
  const cancellation = followSignal(signal);
  try {
    return await request({ signal: cancellation.signal, timeout: maxMs });
  } catch (error) {
    throw new Error(`The MCP server did not return the resource: ${toLine(toPlainError(error).message, maxErrorLength)}`, {
      cause: error,
    });
  } finally {
    cancellation.release();
  }
}
