// Converts values to and from JSON for Restate.

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export const jsonSerde = {
  contentType: "application/json",
  serialize: (value: unknown): Uint8Array => encoder.encode(JSON.stringify(value)),
  /** A handler without a result returns no bytes. */
  deserialize: (bytes: Uint8Array): never => (bytes.length === 0 ? null : JSON.parse(decoder.decode(bytes))) as never,
};
