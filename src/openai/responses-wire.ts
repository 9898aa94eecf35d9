// The request side of the Responses wire, as far as this adapter writes it. Written down here, because any version of the SDK from
// 5 on will do.

import type { Json } from "../core/provider-kit.ts";

/** An item of the input. Those that the model wrote may have any type and fields; messages may have no type. */
export interface InputItem {
  readonly [field: string]: Json | undefined;
}

/** The body of a streaming request: it has `input` and `store` too, and settings' `extra` may add any field to it. */
export interface ResponsesRequestBody {
  readonly model: string;
  readonly stream: true;
}

/** What this adapter uses of an OpenAI client: `new OpenAI()` and `new AzureOpenAI()` of `openai` 5 and later have it. */
export interface OpenAIResponsesClient {
  readonly responses: {
    create(body: ResponsesRequestBody, options: { readonly signal: AbortSignal }): PromiseLike<AsyncIterable<unknown>>;
  };
}
