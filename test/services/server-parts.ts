// Work of a service in a random program: searches, code, open calls, summaries and searches for tools.

import type { Json } from "turnwright";
import { finish, type MockPart, providerMetadata } from "turnwright/testing";
import type { StrictRequest } from "../../src/testing/strict/answer-request.ts";

/**
 * "open": the results of the run's tools come before the result of the service's tool. "paused": the service must be asked again.
 * "special": a summary or a search for tools, if the request allows one.
 */
export type ServerMove = "none" | "answered" | "open" | "paused" | "special";

interface Fields {
  readonly [field: string]: unknown;
}

interface ServerParts {
  /** A summary of earlier messages, which comes before the reasoning. */
  readonly first: readonly MockPart[];
  readonly before: readonly MockPart[];
  readonly end: readonly MockPart[];
}

interface Place {
  readonly move: ServerMove;
  /** Different for each message. */
  readonly id: string;
  readonly hasCalls: boolean;
}

const listOf = (value: unknown): readonly Fields[] => (Array.isArray(value) ? (value as readonly Fields[]) : []);

const item = (fields: Fields): MockPart => providerMetadata(fields as Json);

const nothing: ServerParts = { first: [], before: [], end: [] };

/** Returns the parts before the text and calls of a message, and its end, in the format of the API. */
export function toServerParts({ url, body }: StrictRequest, place: Place): ServerParts {
  const { pathname } = new URL(url);
  if (pathname.endsWith("/messages")) return inMessages(body, place);
  if (pathname.endsWith("/responses")) return inResponses(body, place);
  if (pathname.includes("enerateContent")) return { ...nothing, before: inGenerate(body, place).map(item) };
  return nothing;
}

const search = (id: string): Fields => ({ type: "server_tool_use", id, name: "web_search", input: { query: "Oslo" } });
const run = (id: string): Fields => ({ type: "server_tool_use", id, name: "code_execution", input: { code: "print(1)" } });

const found = {
  type: "web_search_result",
  url: "https://example.com",
  title: "Oslo",
  encrypted_content: "opaque",
  page_age: null,
};

function resultOf({ id, name }: Fields): Fields {
  if (name === "web_search") return { type: "web_search_tool_result", tool_use_id: id, content: [found] };
  const content = { type: "code_execution_result", stdout: "1", stderr: "", return_code: 0, content: [] };
  return { type: "code_execution_tool_result", tool_use_id: id, content };
}

/** The calls of server tools that wait for their result. */
function openCalls(body: Fields): readonly Fields[] {
  const blocks = listOf(body["messages"]).flatMap(({ content }) => listOf(content));
  const answered = new Set(blocks.map(({ tool_use_id: id }) => id));
  return blocks.filter(({ type, id }) => type === "server_tool_use" && !answered.has(id));
}

function inMessages(body: Fields, place: Place): ServerParts {
  const results = openCalls(body).map((call) => item(resultOf(call)));
  const { first, before, end } = listOf(body["tools"]).some(({ type }) => String(type).startsWith("web_search"))
    ? work(body, place)
    : nothing;
  // A summary comes at the beginning, so it waits until no call is open.
  return results.length > 0 && first.length > 0
    ? { ...nothing, before: results }
    : { first, before: [...results, ...before], end };
}

function work(body: Fields, { move, id, hasCalls }: Place): ServerParts {
  const before = (...blocks: readonly Fields[]): ServerParts => ({ ...nothing, before: blocks.map(item) });
  const callId = `srvtoolu_${id}`;
  switch (move) {
    case "none":
      return nothing;
    case "answered":
      return before(search(callId), resultOf(search(callId)));
    case "special":
      return body["context_management"] === undefined
        ? before(...findTools(body, callId))
        : { ...nothing, first: [item({ type: "compaction", content: "<summary>Oslo.</summary>", encrypted_content: "opaque" })] };
    case "open":
    case "paused":
      // Without calls of the run's tools, an open call pauses the message.
      return move === "open" && hasCalls ? before(run(callId)) : { ...before(search(callId)), end: [finish("paused")] };
  }
}

function findTools(body: Fields, id: string): readonly Fields[] {
  const tools = listOf(body["tools"]);
  const finder = tools.find(({ type }) => String(type).startsWith("tool_search_tool"));
  const deferred = tools.filter(({ defer_loading: isDeferred }) => isDeferred === true).map(({ name }) => name);
  if (finder === undefined || deferred.length === 0) return [];
  const references = deferred.slice(0, 2).map((name) => ({ type: "tool_reference", tool_name: name }));
  const content = { type: "tool_search_tool_search_result", tool_references: references };
  return [
    { type: "server_tool_use", id, name: finder["name"], input: { query: "look" } },
    { type: "tool_search_tool_result", tool_use_id: id, content },
  ];
}

function inResponses(body: Fields, { move, id }: Place): ServerParts {
  const before = (...items: readonly Fields[]): ServerParts => ({ ...nothing, before: items.map(item) });
  const tools = listOf(body["tools"]);
  if (move === "special" && body["context_management"] !== undefined)
    return { ...nothing, first: [item({ type: "compaction", id: `cmp_${id}`, encrypted_content: "opaque" })] };
  const deferred = tools.filter(({ defer_loading: isDeferred }) => isDeferred === true);
  if (move === "special" && deferred.length > 0) {
    const shared = { call_id: null, execution: "server", status: "completed" };
    return before(
      { type: "tool_search_call", id: `tsc_${id}`, ...shared, arguments: { paths: deferred.map(({ name }) => name) } },
      { type: "tool_search_output", id: `tso_${id}`, ...shared, tools: deferred },
    );
  }
  if (move === "none" || !tools.some(({ type }) => type === "web_search")) return nothing;
  const action = { type: "search", query: "Oslo" };
  return before({ type: "web_search_call", id: `ws_${id}`, status: "completed", action });
}

function inGenerate(body: Fields, { move, id }: Place): readonly Fields[] {
  const tools = listOf(body["tools"]);
  const thoughtSignature = btoa(`gemini.${id}`);
  if (move === "special" && tools.some(({ googleSearch }) => googleSearch !== undefined)) {
    const shared = { id, toolType: "GOOGLE_SEARCH_WEB" };
    return [
      { toolCall: { ...shared, args: { queries: ["Oslo"] } }, thoughtSignature },
      { toolResponse: { ...shared, response: { search_suggestions: "Oslo" } }, thoughtSignature },
    ];
  }
  if (move === "none" || !tools.some(({ codeExecution }) => codeExecution !== undefined)) return [];
  return [
    { executableCode: { language: "PYTHON", code: "print(1)" }, thoughtSignature },
    { codeExecutionResult: { outcome: "OUTCOME_OK", output: "1" } },
  ];
}
