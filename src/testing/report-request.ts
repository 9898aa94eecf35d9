import type { ModelCall, ModelRequest, Provider } from "../core/entry-kit.ts";

/** Reports the parts of a request as its body. Models without a service have no format of their own. */
export function reportRequest(request: ModelRequest, call: ModelCall, { id, model }: Pick<Provider, "id" | "model">): void {
  const { tools, system, messages } = request;
  call.sending?.({ tools, system, messages }, { id, model });
}
