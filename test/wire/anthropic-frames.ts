export const event = (data: { readonly type: string; readonly [field: string]: unknown }): string =>
  `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;

export const start = (usage: object = { input_tokens: 3, output_tokens: 1 }): string =>
  event({
    type: "message_start",
    message: { id: "msg_1", type: "message", role: "assistant", model: "m", content: [], stop_reason: null, usage },
  });

export const block = (index: number, content: object, ...deltas: readonly object[]): string =>
  [
    event({ type: "content_block_start", index, content_block: content }),
    ...deltas.map((delta) => event({ type: "content_block_delta", index, delta })),
    event({ type: "content_block_stop", index }),
  ].join("");

export const text = (index: number, content: string): string =>
  block(index, { type: "text", text: "" }, { type: "text_delta", text: content });

export const thinking = (index: number, thought: string, signature: string): string =>
  block(
    index,
    { type: "thinking", thinking: "", signature: "" },
    { type: "thinking_delta", thinking: thought },
    { type: "signature_delta", signature },
  );

export const call = (index: number, [id, name, args]: readonly [id: string, name: string, args: string]): string =>
  block(
    index,
    { type: "tool_use", id, name, input: {} },
    { type: "input_json_delta", partial_json: args.slice(0, args.length >> 1) },
    { type: "input_json_delta", partial_json: args.slice(args.length >> 1) },
  );

export const ending = (reason: string, rest: object = {}): string =>
  event({ type: "message_delta", delta: { stop_reason: reason, stop_sequence: null, ...rest }, usage: { output_tokens: 2 } });

export const marker: string = event({ type: "message_stop" });

export const stop = (reason: string, rest: object = {}): string => ending(reason, rest) + marker;
