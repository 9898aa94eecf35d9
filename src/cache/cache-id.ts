// Ids of cached results. They are made here and nowhere else: when the result was stored, and something that nobody guesses. Letters,
// digits and "-" only, so that an id may be part of a file's name.

const shape = /^([0-9a-z]{1,11})-[0-9a-f]{24}$/;
const randomBytes = 12;

/** Makes an id for a result that is stored now, in milliseconds since 1970. */
export function createCacheId(now: number): string {
  const random = [...crypto.getRandomValues(new Uint8Array(randomBytes))].map((byte) => byte.toString(16).padStart(2, "0"));
  return `${Math.max(0, Math.floor(now)).toString(36)}-${random.join("")}`;
}

/** When the result of an id was stored; undefined for what is no id. */
export function storedAt(id: string): number | undefined {
  const time = shape.exec(id)?.[1];
  return time === undefined ? undefined : Number.parseInt(time, 36);
}
