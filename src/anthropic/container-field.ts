import { isRecord, type Json, type Message, type ModelRequest } from "../core/provider-kit.ts";
import type { WireContainer } from "./messages-options.ts";
import { readContainer } from "./provider-metadata.ts";

interface ContainerPorts {
  /** The id of the provider. */
  readonly id: string;
  /** The current time in milliseconds since 1970. Used to detect expired containers. */
  readonly now: number;
}

/**
 * Returns the last container of the conversation, unless it has expired. Skills in `extra.container` are kept. A compaction may
 * remove the message with the container from `messages`, so the whole transcript is searched.
 */
export function toContainerField(
  { messages, transcript, settings }: ModelRequest,
  { id, now }: ContainerPorts,
): { readonly container?: Json } {
  const extra = settings?.extra?.container;
  if (extra !== undefined && !(isRecord(extra) && extra.id === undefined)) return {};
  const container = lastContainer(transcript?.messages ?? messages, id);
  if (container === undefined || Date.parse(container.expires_at ?? "") <= now) return {};
  return { container: extra === undefined ? container.id : { ...extra, id: container.id } };
}

function lastContainer(messages: readonly Message[], id: string): WireContainer | undefined {
  for (let position = messages.length - 1; position >= 0; position -= 1) {
    const message = messages[position];
    const container = message?.role === "assistant" ? readContainer(message.providerMetadata ?? [], id) : undefined;
    if (container !== undefined) return container;
  }
  return undefined;
}
