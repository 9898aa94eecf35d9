import type { Check } from "../core/kit.ts";
import { findClaudeFacts } from "./claude-models.ts";
import type { Quirks, ModelQuirks, Service, ServiceName } from "./service.ts";
import { anthropic, openai, services } from "./services.ts";

/** Checks the `service` option. */
export const serviceCheck: Check = [
  `the name of a known service (${services.map(({ name }) => name).join(", ")}), or absent for any other service`,
  (value) => services.some(({ name }) => name === value),
];

/** The facts about a provider that identify its service. */
export interface ServiceFacts {
  /** The `service` option. */
  readonly service?: ServiceName | undefined;
  /** The SDK client. Its `baseURL` identifies the service. */
  readonly client?: object | undefined;
  /** The `id` option. */
  readonly id?: string | undefined;
  readonly model: string;
}

/**
 * Returns the quirks of the service. The service is identified by the `service` option, or else by the host of the client's address, the
 * `id` option or the port, in this order. Some models also have their own quirks wherever they are hosted. The service's quirks take
 * precedence over these.
 */
export function findQuirks({ model, ...facts }: ServiceFacts): Quirks {
  const found = findService(facts);
  const everywhere = services.flatMap((known) => known.everywhere ?? []);
  const forced: Quirks = findClaudeFacts(model)?.forcedChoice === "no" ? { forcedChoice: "never" } : {};
  return { ...quirksOf(everywhere, model), ...forced, ...found?.quirks, ...quirksOf(found?.models ?? [], model) };
}

/** Returns a service's quirks for Anthropic's API. An unknown service gets Anthropic's limits. */
export function findMessagesQuirks(facts: Omit<ServiceFacts, "model">): Quirks {
  const found = findService(facts);
  return { ...anthropic.quirks, ...(found?.claudeQuirks ?? found?.quirks) };
}

function findService({ service, client, id }: Omit<ServiceFacts, "model">): Service | undefined {
  const { hostname, port } = addressOf(client);
  const byHost = services.find(({ address }) => address?.test(hostname));
  return (
    services.find(({ name }) => name === service) ??
    // The hosts of OpenAI and Anthropic are the SDKs' defaults, and a client's own `fetch` may send requests elsewhere. So the `id` option
    // takes precedence over them.
    (byHost === openai || byHost === anthropic ? undefined : byHost) ??
    services.find((known) => id !== undefined && known.id?.test(id.toLowerCase())) ??
    byHost ??
    services.find((known) => port !== "" && known.port === port)
  );
}

function quirksOf(entries: readonly ModelQuirks[], model: string): Quirks {
  return entries.reduce<Quirks>((quirks, entry) => (entry.model.test(model) ? { ...quirks, ...entry.quirks } : quirks), {});
}

const noAddress = { hostname: "", port: "" };

function addressOf(client: object | undefined): { readonly hostname: string; readonly port: string } {
  const baseURL: unknown = client === undefined ? undefined : Reflect.get(client, "baseURL");
  return typeof baseURL === "string" && URL.canParse(baseURL) ? new URL(baseURL) : noAddress;
}
