// Parses requests in the formats of four APIs into one form, so that rules need not do this.

import { isRecord } from "../../core/kit.ts";
import type { UnknownRecord } from "../../shared/guards.ts";
import type { WireCall, WireItem, WireMedia, WireRequest, WireResult, WireTool } from "../../services/rule.ts";
import { recordAt, recordsIn, show } from "../../services/rule-checks.ts";

/** The parts of an HTTP request. */
export interface ReceivedRequest {
  readonly url: string;
  readonly headers: Headers;
  readonly body: UnknownRecord;
  readonly text: string;
}

export type Wire = "chat" | "responses" | "messages" | "generate";

/** Returns the API that a URL belongs to, or undefined for a path that belongs to no API. */
export function wireOf(url: string): Wire | undefined {
  const { pathname } = new URL(url);
  if (pathname.endsWith("/chat/completions")) return "chat";
  if (pathname.endsWith("/responses")) return "responses";
  if (pathname.endsWith("/messages")) return "messages";
  return /:(?:streamG|g)enerateContent$/.test(pathname) ? "generate" : undefined;
}

type ReadParts = Omit<WireRequest, "history">;

const readers: { readonly [Name in Wire]: (received: ReceivedRequest) => ReadParts } = {
  chat: readChat,
  responses: readResponses,
  messages: readMessages,
  generate: readGenerate,
};

export function readRequest(wire: Wire, received: ReceivedRequest): WireRequest {
  const read = readers[wire](received);
  return { ...read, history: [...read.calls, ...read.results] };
}

function baseOf({ body, text, headers }: ReceivedRequest): Pick<WireRequest, "body" | "text" | "headers" | "model"> {
  return { body, text, headers, model: textAt(body, "model") };
}

function textAt(fields: UnknownRecord, name: string): string {
  const value = fields[name];
  return typeof value === "string" ? value : "";
}

function partsIn(content: unknown): readonly UnknownRecord[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : recordsIn(content);
}

function itemsIn(list: unknown, toRole: (fields: UnknownRecord) => string, content: string): readonly WireItem[] {
  return recordsIn(list).map((fields, at) => ({ at, role: toRole(fields), fields, parts: partsIn(fields[content]) }));
}

type MediaFacts = Pick<WireMedia, "kind" | "mediaType" | "data">;

/** Reads the type and data of a data URL. Any other URL has no data. */
function fromUrl(url: unknown, kind: WireMedia["kind"]): MediaFacts {
  const [, mediaType = "", data] = /^data:([^;,]*)[^,]*,(.*)$/s.exec(show(url)) ?? [];
  return { kind: mediaType.startsWith("image/") ? "image" : kind, mediaType, data };
}

function readChat(received: ReceivedRequest): ReadParts {
  const items = itemsIn(received.body.messages, (fields) => textAt(fields, "role"), "content");
  return {
    ...baseOf(received),
    items,
    tools: recordsIn(received.body.tools).map((entry, at): WireTool => {
      const { name, parameters, strict } = recordAt(entry, "function");
      return { at, name: show(name), schema: parameters, strict: strict === true };
    }),
    calls: items.flatMap(({ at, fields }) =>
      recordsIn(fields.tool_calls).map((call, index): WireCall => {
        const { name, arguments: args } = recordAt(call, "function");
        return { at, path: `messages[${at}].tool_calls[${index}]`, id: call.id, name: show(name), args, fields: call };
      }),
    ),
    results: items
      .filter(({ role }) => role === "tool")
      .map(({ at, fields, parts }): WireResult => ({
        at,
        path: `messages[${at}]`,
        id: fields.tool_call_id,
        name: "",
        parts,
        fields,
      })),
    media: items.flatMap(({ at, role, parts }) =>
      parts.flatMap((part, index) =>
        mediaInChat(part).map((facts) => ({
          at,
          path: `messages[${at}].content[${index}]`,
          role,
          inResult: role === "tool",
          ...facts,
        })),
      ),
    ),
  };
}

function mediaInChat(part: UnknownRecord): readonly MediaFacts[] {
  if (part.type === "image_url") {
    const url = isRecord(part.image_url) ? part.image_url.url : part.image_url;
    return [fromUrl(url, "image")];
  }
  return part.type === "file" ? [fromUrl(recordAt(part, "file").file_data, "file")] : [];
}

function readResponses(received: ReceivedRequest): ReadParts {
  const { body } = received;
  const input: unknown = typeof body.input === "string" ? [{ role: "user", content: body.input }] : body.input;
  const items = itemsIn(input, (fields) => textAt(fields, "role") || textAt(fields, "type"), "content");
  const ofType = (pattern: RegExp): readonly WireItem[] => items.filter(({ fields }) => pattern.test(show(fields.type)));
  return {
    ...baseOf(received),
    items,
    tools: recordsIn(body.tools)
      .filter(({ type }) => type === "function")
      .map((tool, at) => ({ at, name: show(tool.name), schema: tool.parameters, strict: tool.strict !== false })),
    calls: ofType(/^(?:function|custom_tool)_call$/).map(({ at, fields }) => {
      const args = fields.arguments ?? fields.input;
      return { at, path: `input[${at}]`, id: fields.call_id, name: show(fields.name), args, fields };
    }),
    results: ofType(/^(?:function|custom_tool)_call_output$/).map(({ at, fields }) => {
      return { at, path: `input[${at}]`, id: fields.call_id, name: "", parts: partsIn(fields.output), fields };
    }),
    media: items.flatMap(({ at, role, parts, fields }) =>
      [...parts, ...recordsIn(fields.output)].flatMap((part, index) =>
        mediaInInput(part).map((facts) => {
          const inResult = fields.output !== undefined;
          return { at, path: `input[${at}].content[${index}]`, role: inResult ? "tool" : role, inResult, ...facts };
        }),
      ),
    ),
  };
}

function mediaInInput({ type, image_url: url, file_data: file }: UnknownRecord): readonly MediaFacts[] {
  if (type === "input_image") return [fromUrl(url, "image")];
  return type === "input_file" ? [fromUrl(file, "file")] : [];
}

function readMessages(received: ReceivedRequest): ReadParts {
  const items = itemsIn(received.body.messages, (fields) => textAt(fields, "role"), "content");
  const blocks = items.flatMap(({ at, role, parts }) =>
    parts.map((block, index) => ({ at, role, block, path: `messages.${at}.content.${index}` })),
  );
  return {
    ...baseOf(received),
    items,
    tools: recordsIn(received.body.tools)
      .map((tool, at) => ({ tool, at }))
      .filter(({ tool }) => tool.type === undefined || tool.type === "custom")
      .map(({ tool, at }) => ({ at, name: show(tool.name), schema: tool.input_schema, strict: tool.strict === true })),
    calls: blocks
      .filter(({ block }) => block.type === "tool_use")
      .map(({ at, path, block }) => ({ at, path, id: block.id, name: show(block.name), args: block.input, fields: block })),
    results: blocks
      .filter(({ block }) => block.type === "tool_result")
      .map(({ at, path, block }) => ({
        at,
        path,
        id: block.tool_use_id,
        name: "",
        parts: partsIn(block.content),
        fields: block,
      })),
    media: blocks.flatMap(({ at, role, path, block }) => [
      ...mediaInBlock(block).map((facts) => ({ at, path, role, inResult: false, ...facts })),
      ...(block.type === "tool_result" ? recordsIn(block.content) : []).flatMap((inner, index) =>
        mediaInBlock(inner).map((facts) => ({
          at,
          path: `${path}.tool_result.content.${index}`,
          role,
          inResult: true,
          ...facts,
        })),
      ),
    ]),
  };
}

function mediaInBlock(block: UnknownRecord): readonly MediaFacts[] {
  if (block.type !== "image" && block.type !== "document") return [];
  const { type, media_type: mediaType, data } = recordAt(block, "source");
  const isData = type === "base64" && typeof data === "string";
  return [{ kind: block.type === "image" ? "image" : "file", mediaType: show(mediaType), data: isData ? data : undefined }];
}

function readGenerate(received: ReceivedRequest): ReadParts {
  const { body } = received;
  const items = itemsIn(body.contents, (fields) => textAt(fields, "role") || "user", "parts");
  const parts = items.flatMap(({ at, role, parts: list }) =>
    list.map((part, index) => ({ at, role, part, path: `contents[${at}].parts[${index}]` })),
  );
  const [, model = ""] = /\/models\/([^/:]+):/.exec(received.url) ?? [];
  return {
    ...baseOf(received),
    model,
    items,
    tools: recordsIn(body.tools)
      .flatMap(({ functionDeclarations }) => recordsIn(functionDeclarations))
      .map((entry, at) => ({
        at,
        name: show(entry.name),
        schema: entry.parametersJsonSchema ?? entry.parameters,
        strict: false,
      })),
    calls: parts
      .filter(({ part }) => part.functionCall !== undefined)
      .map(({ at, path, part }) => {
        const { id, name, args } = recordAt(part, "functionCall");
        return { at, path, id, name: show(name), args, fields: part };
      }),
    results: parts
      .filter(({ part }) => part.functionResponse !== undefined)
      .map(({ at, path, part }) => {
        const { id, name, parts: inner } = recordAt(part, "functionResponse");
        return { at, path, id, name: show(name), parts: partsIn(inner), fields: part };
      }),
    media: parts.flatMap(({ at, role, path, part }) => [
      ...mediaInPart(part).map((facts) => ({ at, path, role, inResult: false, ...facts })),
      ...recordsIn(recordAt(part, "functionResponse").parts).flatMap((inner, index) =>
        mediaInPart(inner).map((facts) => ({
          at,
          path: `${path}.functionResponse.parts[${index}]`,
          role,
          inResult: true,
          ...facts,
        })),
      ),
    ]),
  };
}

function mediaInPart(part: UnknownRecord): readonly MediaFacts[] {
  const media = recordAt(part, part.inlineData === undefined ? "fileData" : "inlineData");
  if (media.mimeType === undefined) return [];
  const mediaType = show(media.mimeType);
  const data = typeof media.data === "string" ? media.data : undefined;
  return [{ kind: mediaType.startsWith("image/") ? "image" : "file", mediaType, data }];
}
