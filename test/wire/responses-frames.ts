import { event } from "./anthropic-frames.ts";

export interface ResponseItem {
  readonly type: string;
  readonly [field: string]: unknown;
}

export const message = (text: string, rest: object = {}): ResponseItem => ({
  type: "message",
  id: "msg_1",
  status: "completed",
  role: "assistant",
  content: [{ type: "output_text", text, annotations: [], logprobs: [] }],
  ...rest,
});

export const refusal = (text: string): ResponseItem => message("", { content: [{ type: "refusal", refusal: text }] });

export const reasoning = (summary: string, encrypted: string, rest: object = {}): ResponseItem => ({
  type: "reasoning",
  id: `rs_${encrypted}`,
  summary: summary === "" ? [] : [{ type: "summary_text", text: summary }],
  encrypted_content: encrypted,
  ...rest,
});

export const call = (
  [callId, name, args]: readonly [id: string, name: string, args: string],
  rest: object = {},
): ResponseItem => ({
  type: "function_call",
  id: `fc_${callId}`,
  status: "completed",
  call_id: callId,
  name,
  arguments: args,
  ...rest,
});

export const customCall = ([callId, name, input]: readonly [id: string, name: string, input: string]): ResponseItem => ({
  type: "custom_tool_call",
  id: `ct_${callId}`,
  status: "completed",
  call_id: callId,
  name,
  input,
});

const response = { id: "resp_1", object: "response", created_at: 1, model: "m", incomplete_details: null, output: [] };

export const created: string = event({ type: "response.created", response: { ...response, status: "in_progress" } });

const halves = (text: string): readonly string[] => [text.slice(0, text.length >> 1), text.slice(text.length >> 1)];

const list = (value: unknown): readonly { readonly [field: string]: string }[] => {
  const parts: readonly { readonly [field: string]: string }[] = Array.isArray(value) ? value : [];
  return parts;
};

function pieces(item: ResponseItem, place: { readonly item_id: unknown; readonly output_index: number }): readonly string[] {
  const at = (type: string, fields: object): string => event({ type: `response.${type}`, ...place, ...fields });
  switch (item.type) {
    case "message":
      return list(item.content).flatMap(({ type, text = "", refusal: refused = "" }, index) =>
        type === "refusal"
          ? [...halves(refused).map((delta) => at("refusal.delta", { content_index: index, delta }))]
          : [
              ...Array.from(text).map((delta) => at("output_text.delta", { content_index: index, delta })),
              at("output_text.done", { content_index: index, text }),
            ],
      );
    case "reasoning":
      return list(item.summary).flatMap(({ text = "" }, index) =>
        halves(text).map((delta) => at("reasoning_summary_text.delta", { summary_index: index, delta })),
      );
    case "function_call":
      return [
        ...halves(String(item.arguments)).map((delta) => at("function_call_arguments.delta", { delta })),
        at("function_call_arguments.done", { arguments: item.arguments }),
      ];
    case "custom_tool_call":
      return halves(String(item.input)).map((delta) => at("custom_tool_call_input.delta", { delta }));
    default:
      return [];
  }
}

function emptied(item: ResponseItem): ResponseItem {
  const empty = { message: { content: [] }, reasoning: { summary: [] }, function_call: { arguments: "" } };
  return { ...item, status: "in_progress", ...Object.entries(empty).find(([type]) => type === item.type)?.[1] };
}

const begin = (item: ResponseItem, index: number): string =>
  event({ type: "response.output_item.added", output_index: index, item: emptied(item) });

export const openItem = (item: ResponseItem, index = 0): string =>
  begin(item, index) + pieces(item, { item_id: item.id, output_index: index }).join("");

export function openItems(items: readonly ResponseItem[], from = 0): readonly string[] {
  const waiting = items.map((item, at) => [...pieces(item, { item_id: item.id, output_index: from + at })]);
  const begins = items.map((item, at) => begin(item, from + at));
  const mixed: string[] = [];
  while (waiting.some((list) => list.length > 0)) for (const list of waiting) mixed.push(...list.splice(0, 1));
  return [...begins, ...mixed];
}

export const wholeItems = (items: readonly ResponseItem[], from = 0): readonly string[] => [
  ...openItems(items, from),
  ...items.map((item, at) => event({ type: "response.output_item.done", output_index: from + at, item })),
];

export const wholeItem = (item: ResponseItem, index = 0): string =>
  openItem(item, index) + event({ type: "response.output_item.done", output_index: index, item });

const usage = {
  input_tokens: 3,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 2,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 5,
};

export const ended = (status: "completed" | "incomplete" | "failed", fields: object = {}): string =>
  event({ type: `response.${status}`, response: { ...response, status, usage, ...fields } });

export const cutOff = (reason: string, output: readonly ResponseItem[] = [], rest: object = {}): string =>
  ended("incomplete", { incomplete_details: { reason }, output, ...rest });

export const respond = (...items: readonly ResponseItem[]): readonly string[] => [
  created,
  ...items.map((item, index) => wholeItem(item, index)),
  ended("completed", { output: items }),
];
