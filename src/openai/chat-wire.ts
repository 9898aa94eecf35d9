// The request side of the Chat Completions wire, as far as this adapter writes it. Written down here, because any version of
// the SDK from 5 on will do.

/** A piece of a message. */
export type ChatPart =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image_url"; readonly image_url: { readonly url: string } }
  | { readonly type: "input_audio"; readonly input_audio: { readonly data: string; readonly format: "wav" | "mp3" } }
  | { readonly type: "file"; readonly file: { readonly filename: string; readonly file_data: string } };

/** A call in an assistant message. */
export interface ChatCall {
  readonly id: string;
  readonly type: "function";
  readonly function: { readonly name: string; readonly arguments: string };
  readonly extra_content?: unknown;
}

/** A message of a request. */
export type ChatMessage =
  | { readonly role: "system"; readonly content: string }
  | { readonly role: "user"; readonly content: string | readonly ChatPart[] }
  | {
      readonly role: "assistant";
      readonly content: string | null;
      readonly tool_calls?: readonly ChatCall[];
      readonly reasoning_content?: string;
      readonly reasoning?: string;
      readonly reasoning_details?: unknown;
    }
  | { readonly role: "tool"; readonly tool_call_id: string; readonly content: string | readonly ChatPart[] };

/** A tool as the model is shown it. */
export interface ChatTool {
  readonly type: "function";
  readonly function: { readonly name: string; readonly description: string; readonly parameters: object };
}

/** The body of a streaming request. Settings' `extra` may add any field to it. */
export interface ChatRequestBody {
  readonly model: string;
  readonly messages: readonly { readonly role: string }[];
  readonly stream: true;
}

/** What this adapter uses of an OpenAI client: `new OpenAI()` and `new AzureOpenAI()` of `openai` 5 and later have it. */
export interface OpenAIChatClient {
  readonly chat: {
    readonly completions: {
      create(body: ChatRequestBody, options: { readonly signal: AbortSignal }): PromiseLike<AsyncIterable<unknown>>;
    };
  };
}
